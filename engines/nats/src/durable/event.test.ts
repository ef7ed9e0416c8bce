import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import { sizeOfHeaders } from '../words/headers.ts'
import { deadLetterOf, NatsEvent } from './event.ts'
import { AGAIN_STREAM, HEADER } from './names.ts'
import { readPlace } from './stored.ts'

const MAX_PAYLOAD = 1024 * 1024

function eventOf(headers: MsgHdrs | undefined, { stream = 's', size = 2 } = {}): NatsEvent {
  const reply = `$JS.ACK.${stream}.c.1.5.1.1700000000000000000.0`
  const message = { subject: 'p', reply, data: new Uint8Array(size), headers }
  const place = readPlace(reply)
  assert.ok(place)
  return new NatsEvent(message, message.data, place, 0, 0, undefined)
}

function headersOf(values: Readonly<Record<string, string>>): MsgHdrs {
  const headers = newHeaders()
  for (const [name, value] of Object.entries(values)) headers.set(name, value)
  return headers
}

const letterOf = (event: NatsEvent, maxPayload = MAX_PAYLOAD) =>
  deadLetterOf(event, 'a reason \ud800', 'g', 'c', maxPayload)
const leftOut = (headers: MsgHdrs): unknown => {
  const said = headers.get(HEADER.leftOut)
  return said === '' ? [] : JSON.parse(decodeURIComponent(said))
}

describe('an event of NATS', () => {
  it('has an id, key and position also if its publisher gave it none', () => {
    const { id, key, position, publishedAt, headers } = eventOf(undefined)
    assert.deepEqual(
      [id, key, position, publishedAt, headers],
      ['s:5:1700000000000', undefined, '5', 1_700_000_000_000, undefined]
    )
    const given = eventOf(headersOf({ [HEADER.id]: 'a%20b', [HEADER.key]: 'k%C3%BC', own: '1' }))
    assert.deepEqual([given.id, given.key, given.headers], ['a b', 'kü', { own: '1' }])
  })

  it('has the values of its first life only if it was redriven', () => {
    const headers = headersOf({
      [HEADER.ownId]: 'first',
      [HEADER.position]: '3',
      [HEADER.publishedAt]: '7',
      [HEADER.subject]: 'q',
      [HEADER.id]: 'redrive-1'
    })
    const again = eventOf(headers, { stream: AGAIN_STREAM })
    const { id, position, publishedAt, subject, isFree } = again
    assert.deepEqual([id, position, publishedAt, subject, isFree], ['first', '3', 7, 'q', true])
    const forged = eventOf(headers)
    assert.deepEqual(
      [forged.id, forged.position, forged.publishedAt, forged.subject, forged.isFree],
      ['redrive-1', '5', 1_700_000_000_000, 'p', false]
    )
  })
})

describe('a dead letter of NATS', () => {
  it('has the same id each time, so that it is stored once', () => {
    const [one, other] = [letterOf(eventOf(undefined)), letterOf(eventOf(undefined))]
    assert.equal(one.id, other.id)
    assert.equal(one.headers.get(HEADER.id), one.id)
    assert.equal(one.headers.get(HEADER.reason), encodeURIComponent('a reason ?'))
    assert.equal(one.address, '_ELYSIA.DEAD.g.c')
  })

  it('lacks the parts that are too large, with their names, the smallest headers last', () => {
    const large = 'x'.repeat(40_000)
    const { headers, payload } = letterOf(
      eventOf(headersOf({ small: 's', large, larger: large + large, [HEADER.key]: 'k'.repeat(9_000) }), {
        size: MAX_PAYLOAD - 100
      })
    )
    assert.deepEqual(leftOut(headers), ['key', 'headers.larger', 'data'])
    assert.deepEqual([headers.get('small'), headers.get('large').length, payload.length], ['s', 40_000, 0])
    assert.ok(sizeOfHeaders(headers) < 64 * 1024)
    const many = headersOf(
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`h${n}`, 'x'.repeat(20_000)]))
    )
    assert.equal((leftOut(letterOf(eventOf(many)).headers) as string[]).length, 16)
  })

  it('leaves out what is a byte too large, and nothing that fits', () => {
    const ids = (length: number) =>
      leftOut(letterOf(eventOf(headersOf({ [HEADER.id]: 'i'.repeat(length) }))).headers)
    assert.deepEqual([ids(8 * 1024), ids(8 * 1024 + 1)], [[], ['id']])
    // The room that the other headers leave, of 60 KiB or half of a message.
    const bare = sizeOfHeaders(letterOf(eventOf(headersOf({}))).headers)
    for (const [maxPayload, most] of [
      [MAX_PAYLOAD, 60 * 1024],
      [20_000, 10_000]
    ] as const) {
      // A header of its own counts with the first line of headers.
      const fits = most - bare - 'NATS/1.0\r\n\r\n'.length - 'own: \r\n'.length
      const own = (length: number) =>
        leftOut(letterOf(eventOf(headersOf({ own: 'x'.repeat(length) })), maxPayload).headers)
      assert.deepEqual([own(fits), own(fits + 1)], [[], ['headers.own']], `${maxPayload}`)
    }
    const data = (size: number) => leftOut(letterOf(eventOf(undefined, { size })).headers)
    const whole = MAX_PAYLOAD - 4_096 - bare
    assert.deepEqual([data(whole), data(whole + 1)], [[], ['data']])
  })

  it('has the name of an event whose id is too large', () => {
    const { headers } = letterOf(eventOf(headersOf({ [HEADER.id]: 'i'.repeat(9_000) })))
    assert.equal(headers.get(HEADER.ownId), 's:5:1700000000000')
    assert.deepEqual(leftOut(headers), ['id'])
  })
})
