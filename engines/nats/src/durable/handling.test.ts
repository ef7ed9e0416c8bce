import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { NatsEvent } from './event.ts'
import { Handling, type HandlingInit } from './handling.ts'
import { readPlace } from './stored.ts'

it('a process says of an event that it still has it while it runs, and before that only as long as nobody else may', () => {
  const kept: string[] = []
  let running: NatsEvent | undefined
  const handling = new Handling({
    options: { ackWait: 10_000, route: { durable: { ordered: false } } },
    worker: () => ({ isRunning: (event: NatsEvent) => event === running })
  } as unknown as HandlingInit)
  handling.connection = {
    isConnected: true,
    publish: (reply: string) => void kept.push(reply)
  } as unknown as NatsConnection
  const [waits, , runs] = [1_000, -1, -1].map((left, at) => {
    const reply = `$JS.ACK.s.c.1.${at + 1}.${at + 1}.1000000.0`
    const place = readPlace(reply)
    assert.ok(place)
    const data = new Uint8Array(1)
    const event = new NatsEvent({ subject: 'p', reply, data }, data, place, performance.now() + left, 0, 'p')
    handling.held.take(event)
    return event
  })
  running = runs
  handling.keep()
  assert.deepEqual(kept, [waits?.reply, runs?.reply])
  // Another event may have the number of one whose stream is gone.
  kept.length = 0
  if (waits !== undefined) waits.isOnlyHere = true
  handling.keep()
  assert.deepEqual(kept, [runs?.reply])
})
