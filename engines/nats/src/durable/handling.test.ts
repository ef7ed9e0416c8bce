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

it('an event that ends while its group is restored is acknowledged later if it may be gone, and otherwise at once', () => {
  const said: string[] = []
  let isRecovering = true
  let done = 0
  const handling = new Handling({
    options: { ackWait: 10_000 },
    watch: { done: () => void done++, main: { stream: 's' } },
    worker: () => ({ holdsKey: () => false }),
    isRecovering: () => isRecovering
  } as unknown as HandlingInit)
  handling.connection = { publish: (reply: string) => void said.push(reply) } as unknown as NatsConnection
  const take = (sequence: number, isOnlyHere: boolean) => {
    const reply = `$JS.ACK.s.c.1.${sequence}.${sequence}.1000000.0`
    const data = new Uint8Array(1)
    const place = readPlace(reply)
    assert.ok(place)
    const event = new NatsEvent({ subject: 'p', reply, data }, data, place, 0, 0, 'p')
    event.isOnlyHere = isOnlyHere
    handling.held.take(event)
    return event
  }
  const [known, unknown] = [take(1, false), take(2, true)]
  for (const event of [known, unknown]) handling.acknowledge(event)
  assert.deepEqual([said, handling.held.count, done], [[known.reply], 0, 2])
  assert.deepEqual([handling.takeUnsent(), handling.takeUnsent()], [[unknown], []])
  isRecovering = false
  handling.acknowledge(take(3, true))
  assert.deepEqual([handling.takeUnsent(), said.length, done], [[], 1, 3])
})

it('an event that only this process has is never too old to wait, and one that was redriven, neither', () => {
  const handling = new Handling({
    options: { ackWait: 10_000 },
    watch: { main: { stream: 's' } },
    worker: () => ({ holdsKey: () => false })
  } as unknown as HandlingInit)
  handling.maxAge = 1_000
  const why = (stream: string, isOnlyHere: boolean) => {
    const place = readPlace(`$JS.ACK.${stream}.c.1.1.1.1000000.0`)
    return handling.whyNotLater({ place, isOnlyHere } as NatsEvent, 10) !== undefined
  }
  assert.deepEqual([why('s', false), why('s', true), why('elysia-redriven', false)], [true, false, false])
})
