import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Received } from '../driver.ts'
import { keyOf, queueOfGroup } from '../words/names.ts'
import type { Deliveries } from './deliveries.ts'
import { HEADER, RabbitEvent } from './stored.ts'

/** An event that was received. @param pattern that of its handler; `undefined`: it has wildcards */
function eventOf(headers: Readonly<Record<string, unknown>>, routingKey = keyOf('p'), pattern?: string) {
  const fields = { deliveryTag: 7, routingKey, redelivered: false }
  const message = { content: Buffer.from('{}'), fields, properties: { headers } } as unknown as Received
  return new RabbitEvent(message, {} as Deliveries, pattern)
}

describe('a stored event', () => {
  it('has the pattern to which it was published, also as a copy that went to a queue by its name', () => {
    assert.equal(eventOf({}, keyOf('a.b')).pattern, 'a.b')
    const copy = eventOf(eventOf({}, keyOf('a.b')).copyWith({}).headers ?? {}, queueOfGroup('g', 'a.*'))
    assert.equal(copy.pattern, 'a.b')
    assert.equal(eventOf({}, queueOfGroup('g', 'p'), 'p').pattern, 'p')
  })

  it('has runs: those that have failed, and those of processes that have ended', () => {
    const event = eventOf({ [HEADER.failed]: 2, 'x-delivery-count': 3 })
    assert.deepEqual([event.attempt, event.deliveredBefore, event.redelivered], [3, 3, true])
    assert.deepEqual([eventOf({}).attempt, eventOf({}).redelivered, eventOf({}).isCounted], [1, false, false])
  })

  it('is copied with what identifies it and what others gave it, and without what the server has added', () => {
    const given = { own: 'kept', 'x-delivery-count': 3, 'x-death': [], [HEADER.unique]: 'u' }
    const { headers, persistent, mandatory } = eventOf({ ...given, [HEADER.publishedAt]: 5 }).copyWith({
      [HEADER.failed]: 1
    })
    const said = { [HEADER.id]: 'u', [HEADER.unique]: 'u', [HEADER.pattern]: 'p', [HEADER.failed]: 1 }
    assert.deepEqual(headers, { own: 'kept', [HEADER.publishedAt]: 5, ...said })
    assert.deepEqual([persistent, mandatory], [true, true])
  })

  it('is copied with as many headers of others as have room, the small ones first', () => {
    // The name and the value have eight bytes more each.
    const filling = 'x'.repeat(48 * 1024 - 4 - 16)
    const { headers } = eventOf({
      last: `${filling}y`,
      full: filling,
      ['n'.repeat(256)]: 'long name'
    }).copyWith({})
    assert.deepEqual([headers?.['full'] === filling, headers?.['last']], [true, undefined])
    assert.ok(!Object.keys(headers ?? {}).some((name) => name.length > 255))
  })

  it('waits until it is due, but no longer than it was to wait, if clocks differ', () => {
    const event = eventOf({ [HEADER.due]: 1_000, [HEADER.pause]: 300 })
    assert.deepEqual([event.waits(900), event.waits(1_100), event.waits(10)], [100, -100, 300])
    assert.equal(eventOf({ [HEADER.due]: 1_000 }).waits(10), 990)
  })
})
