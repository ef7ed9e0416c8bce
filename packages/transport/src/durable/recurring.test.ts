/** Tests that events that do not recur cost nothing more because others do. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Dispatcher } from '../dispatcher.ts'
import { memory } from '../memory/memory.ts'
import { IncomingMessage } from '../message.ts'
import { deliveryOf } from './delivery.ts'
import { recurringOf } from './recurring.ts'

it('an event that does not recur reaches its handlers although its headers cannot be read', () => {
  const reached: IncomingMessage[] = []
  const dispatcher = {
    routes: () => [{ kind: 'event', route: 'placed', durable: {} }],
    event: (message: IncomingMessage) => void reached.push(message)
  } as unknown as Dispatcher
  const recurring = recurringOf(dispatcher, { group: 'orders', logger: console, transports: [memory()] })
  const event = {
    id: 'order 7',
    key: undefined,
    publishedAt: 0,
    position: '1',
    attempt: 1,
    redelivered: false
  }
  const message = new IncomingMessage({
    transport: 'memory',
    kind: 'event',
    pattern: 'placed',
    route: 'placed',
    data: 7,
    stored: {
      delivery: deliveryOf(event, 'orders', 0),
      get metadata(): never {
        throw new Error('Another program has written the headers')
      }
    }
  })
  recurring?.around(dispatcher).event(message)
  assert.deepEqual(reached, [message])
})
