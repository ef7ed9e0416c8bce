/** Tests that packets from outside may be any JSON. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { eventPacket, parsePacket, requestHead, requestPacket } from './packet.ts'

describe('parsePacket', () => {
  for (const field of ['pattern', 'id', 'data', 'metadata']) {
    it(`refuses a packet whose ${field} is nested deeper than anybody means it`, () => {
      const deep = (levels: number) => `{"${field}":${'['.repeat(levels)}1${']'.repeat(levels)}}`
      assert.ok(field in parsePacket(deep(999)))
      assert.throws(() => parsePacket(deep(1_000)), { name: 'ProtocolError', message: /1000 levels/ })
    })
  }

  it('takes a value that is no object for a packet without fields', () => {
    for (const json of ['null', '5', 'true', '"text"']) assert.deepEqual(parsePacket(json), {})
    assert.throws(() => parsePacket('{'), { name: 'ProtocolError', message: /Could not parse JSON/ })
  })
})

describe('packets to be sent', () => {
  const part = fc.option(fc.jsonValue(), { nil: undefined })
  /** Makes an object with the field; without a value, an empty object. */
  const field = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value })
  const jsonOf = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value))

  it("are what `JSON.stringify` makes of Nest's packets, with and without data and metadata [property]", () => {
    fc.assert(
      fc.property(fc.string(), part, part, fc.nat(), (pattern, data, metadata, id) => {
        const event = { pattern, ...field('data', data), ...field('metadata', metadata) }
        assert.equal(eventPacket(pattern, jsonOf(data), jsonOf(metadata)), JSON.stringify(event))
        const head = requestHead(pattern)
        const request = { ...event, id: String(id) }
        assert.equal(requestPacket(head, jsonOf(data), jsonOf(metadata), id), JSON.stringify(request))
      })
    )
  })

  it('name a pattern that JSON leaves out by its route', () => {
    for (const given of [() => 1, undefined]) {
      const head = requestHead({ toJSON: () => given })
      assert.equal(typeof JSON.parse(`${head}}`).pattern, 'string')
    }
  })
})
