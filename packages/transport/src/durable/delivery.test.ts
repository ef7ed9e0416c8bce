import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { dateOf, deliveryOf } from './delivery.ts'

it('a delivery says what its event is, and how old', () => {
  const event = { id: 'a', key: undefined, attempt: 2, publishedAt: 1_000, position: '7' }
  assert.deepEqual(deliveryOf(event, 'billing', 1_500), {
    id: 'a',
    group: 'billing',
    attempt: 2,
    redelivered: true,
    key: undefined,
    publishedAt: new Date(1_000),
    age: 500,
    position: '7'
  })
  assert.equal(deliveryOf({ ...event, attempt: 1 }, 'billing').redelivered, false)
  // The clock of the publisher may be ahead.
  assert.equal(deliveryOf(event, 'billing', 900).age, 0)
})

it('a date is valid, whatever number a stranger has written', () => {
  fc.assert(fc.property(fc.double(), (time) => assert.ok(Number.isFinite(dateOf(time).getTime()))))
  assert.equal(dateOf(5).getTime(), 5)
  assert.equal(dateOf(Number.NaN).getTime(), 0)
})
