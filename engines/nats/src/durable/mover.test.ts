import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { JetStream } from '../driver.ts'
import { Mover } from './mover.ts'
import type { StoredMessage } from './outgoing-event.ts'

/** A mover of a server that keeps some events of the future, and the looks at them. */
function moving(waiting: number) {
  const made = { looks: 0, waiting }
  const connection = { isConnected: true, subscribeIfAllowed: () => ({ unsubscribe() {} }) }
  const jetStream = {
    async stream() {
      made.looks++
      return { state: { messages: made.waiting, subjects: {} } }
    }
  }
  const mover = new Mover({
    publisher: {} as Publisher<StoredMessage>,
    window: 1_000,
    logger: { warn() {}, error() {} }
  })
  mover.add('orders')
  mover.attach(connection as unknown as NatsConnection, jetStream as unknown as JetStream)
  return { mover, made }
}

/** As many times as the mover looks within a minute. */
async function minute(mover: Mover): Promise<void> {
  for (let time = 0; time < 12; time++) {
    mover.lookAgain()
    await Promise.resolve()
    await new Promise(setImmediate)
  }
}

describe('a process with durable handlers over NATS', () => {
  it('looks for events whose time has come twice a minute while none waits, and every 5 seconds while one does', async () => {
    const { mover, made } = moving(0)
    await minute(mover)
    assert.equal(made.looks, 1 + 2)
    made.waiting = 1
    await minute(mover)
    made.looks = 0
    await minute(mover)
    assert.equal(made.looks, 12)
    mover.detach()
  })
})
