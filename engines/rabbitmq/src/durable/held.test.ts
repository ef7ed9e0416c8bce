/** Events that have arrived, and when they are due, from the properties of their messages alone. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DriverChannel, Received } from '../driver.ts'
import { Deliveries } from './deliveries.ts'
import { HeldEvents } from './held.ts'
import { HEADER, RabbitEvent } from './stored.ts'

const channel = {} as DriverChannel
const NOW = 1_000_000

function event(headers: Record<string, unknown>, deliveries = new Deliveries(channel)): RabbitEvent {
  const message = {
    content: Buffer.from('{}'),
    fields: { routingKey: 'p', deliveryTag: 1, redelivered: false },
    properties: { headers: { [HEADER.unique]: 'e', ...headers } }
  } satisfies Received
  return new RabbitEvent(message, deliveries, 'p')
}

it('the next attempt of an event that is still here is new, and every other copy of it is repeated', () => {
  const held = new HeldEvents()
  const deliveries = new Deliveries(channel)
  const first = event({ [HEADER.failed]: 1 }, deliveries)
  assert.equal(held.meet(first), 'new')
  held.add(first)
  assert.equal(held.meet(event({ [HEADER.failed]: 2 }, deliveries)), 'new')
  assert.equal(held.meet(event({ [HEADER.failed]: 1 }, deliveries)), 'repeated')
  assert.equal(held.meet(event({}, deliveries)), 'repeated')
  assert.equal(held.meet(event({ [HEADER.failed]: 1 })), 'running', 'delivered again over another channel')
})

it('an event whose next attempt is here already takes nothing from it when it is forgotten', () => {
  const held = new HeldEvents()
  const deliveries = new Deliveries(channel)
  const [first, next] = [event({}, deliveries), event({ [HEADER.failed]: 1 }, deliveries)]
  for (const one of [first, next]) held.add(one)
  held.forget(first)
  assert.equal(held.size, 1)
  assert.equal(held.meet(event({ [HEADER.failed]: 1 }, deliveries)), 'repeated')
})

it('an event waits until it is due, and never longer than it was to wait', () => {
  const waits = (due: number, pause?: number) =>
    event({ [HEADER.due]: due, ...(pause !== undefined && { [HEADER.pause]: pause }) }).waits(NOW)
  assert.equal(waits(NOW + 500, 900), 500)
  assert.equal(
    waits(NOW + 60_000, 900),
    900,
    'this clock is behind that of the process that has put it aside'
  )
  assert.equal(waits(NOW + 500), 500)
})
