import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Received } from '../driver.ts'
import { keyOf, queueOfGroup } from '../words/names.ts'
import type { Deliveries } from './deliveries.ts'
import { HEADER, messageOf, optionsOf, RabbitEvent, uniqueOf } from './stored.ts'

/** An event that was received. @param pattern that of its handler; `undefined`: it has wildcards */
function eventOf(
  headers: Readonly<Record<string, unknown>> | undefined,
  routingKey = keyOf('p'),
  pattern?: string,
  more: object = {}
) {
  const fields = { deliveryTag: 7, routingKey, redelivered: false }
  const properties = { headers, ...more }
  const message = { content: Buffer.from('{"data":1}'), fields, properties } as unknown as Received
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

  it('has the time of its publisher, to the millisecond if it is ours, and else that of its arrival', (t) => {
    t.mock.method(Date, 'now', () => 5)
    assert.equal(eventOf({ [HEADER.publishedAt]: 1_234 }, 'p', 'p', { timestamp: 9 }).publishedAt, 1_234)
    assert.equal(eventOf({}, 'p', 'p', { timestamp: 9 }).publishedAt, 9_000)
    assert.equal(eventOf(undefined).publishedAt, 5)
  })

  it('has its own id, or else that of the message, or else a new one; and a key if it has one', () => {
    const given = eventOf({ [HEADER.id]: 'i', [HEADER.unique]: 'u', [HEADER.key]: 'k' }, 'p', 'p', {
      messageId: 'm'
    })
    assert.deepEqual([given.id, given.unique, given.key], ['i', 'u', 'k'])
    const plain = eventOf({}, 'p', 'p', { messageId: 'm' })
    assert.deepEqual([plain.id, plain.unique, plain.key], ['m', 'm', undefined])
    const [one, other] = [eventOf({ [HEADER.unique]: '' }), eventOf(undefined)]
    assert.notEqual(one.unique, other.unique)
    assert.deepEqual([one.id === one.unique, uniqueOf({})], [true, ''])
  })

  it('has counts that are whole and positive, whatever a stranger has written there', () => {
    for (const wrong of [-1, 1.5, '3', Number.MAX_VALUE, null])
      assert.equal(eventOf({ [HEADER.failed]: wrong, 'x-delivery-count': wrong }).attempt, 1, String(wrong))
    assert.equal(eventOf({ [HEADER.failed]: 1 }).redelivered, true)
    assert.equal(eventOf({ 'x-delivery-count': 1 }).redelivered, true)
  })

  it('keeps its priority in a copy, and has it among its headers', () => {
    const event = eventOf({ own: 'x' }, 'p', 'p', { priority: 3 })
    assert.equal(event.copyWith({}).priority, 3)
    assert.deepEqual(event.headers, { own: 'x', 'amqp-priority': '3' })
    assert.equal('priority' in eventOf({}).copyWith({}), false)
    assert.deepEqual([event.own('own'), event.own('other')], ['x', undefined])
  })

  it('is copied with all headers of others as long as they have room together, whatever they are', () => {
    const bytes = new Uint8Array(1_000)
    const headers = { bytes, list: [1], none: undefined, text: 'x'.repeat(48 * 1_024 - 1_000 - 3 - 100) }
    const copied = eventOf(headers).copyWith({}).headers
    for (const name of ['bytes', 'list', 'text'] as const) assert.equal(copied?.[name], headers[name], name)
    const longest = 'n'.repeat(255)
    assert.equal(eventOf({ [longest]: 'x' }).copyWith({}).headers?.[longest], 'x')
    const some = eventOf({ bytes: new Uint8Array(60_000), small: 'x' }).copyWith({}).headers
    assert.deepEqual([some?.['bytes'], some?.['small']], [undefined, 'x'])
  })

  it('is published so that it is kept, with an id that is its own or that of the user', (t) => {
    t.mock.method(Date, 'now', () => 5)
    const head = (isOwnId: boolean) => ({ id: 'i', isOwnId }) as Parameters<typeof optionsOf>[0]
    const kept = { persistent: true, mandatory: true, contentType: 'application/json' }
    assert.deepEqual(optionsOf(head(true), undefined, { a: 'b', 'amqp-priority': '2' }), {
      ...kept,
      ...{ priority: 2, messageId: 'i', headers: { a: 'b', [HEADER.publishedAt]: 5 } }
    })
    const [one, other] = [optionsOf(head(false), 'k', undefined), optionsOf(head(false), 'k', undefined)]
    const { [HEADER.unique]: unique, ...headers } = one.headers ?? {}
    assert.deepEqual(headers, { [HEADER.publishedAt]: 5, [HEADER.key]: 'k', [HEADER.id]: 'i' })
    assert.notEqual(unique, other.headers?.[HEADER.unique])
    assert.equal(one.messageId, undefined)
  })

  it('reaches its handler as what was published, and is refused if it is not JSON', () => {
    const message = messageOf(eventOf({ [HEADER.unique]: 'u' }), 'g', 'p.*')
    assert.deepEqual([message.pattern, message.data, message.delivery?.group], ['p', 1, 'g'])
    const broken = eventOf({})
    Object.assign(broken.message, { content: Buffer.from('{') })
    assert.throws(() => messageOf(broken, 'g', 'p'), SyntaxError)
  })
})
