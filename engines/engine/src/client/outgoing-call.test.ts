/** Calls as they are sent: their addresses, packets and headers. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type PendingCall, routeOf } from '@elysia-microservices/transport/kit'
import type { DataRecord } from '../carrier.ts'
import { CallWriter, eventOf, packetOf } from './outgoing-call.ts'

class Recorded implements DataRecord {
  readonly data: unknown
  readonly headers: DataRecord['headers']

  constructor(data: unknown, headers?: DataRecord['headers']) {
    this.data = data
    this.headers = headers
  }
}

const asked: string[] = []
const writer = new CallWriter({
  title: 'SHOP',
  whyNot(route) {
    asked.push(route)
    return route.includes(' ') ? 'it has a blank' : undefined
  },
  recordOf: (value) => (value instanceof Recorded ? value : undefined),
  whyNoHeader: (name) => (name === 'bad' ? 'has a bad name' : undefined)
})
const call = (given: Partial<PendingCall> = {}) =>
  ({
    kind: 'request',
    pattern: 'p',
    data: undefined,
    headers: undefined,
    sequence: 7,
    ...given
  }) as PendingCall

describe('a call', () => {
  it('has the address of its pattern, which the engine is asked about once', () => {
    const pattern = { cmd: 'x' }
    asked.length = 0
    for (let n = 0; n < 2; n++) assert.equal(writer.write(call({ pattern: 'a.b' })).address, 'a.b')
    assert.deepEqual(asked, ['a.b'])
    assert.equal(writer.write(call({ pattern })).address, routeOf(pattern))
    assert.equal(writer.write(call({ pattern: 5 })).address, '5')
    assert.throws(
      () => writer.write(call({ pattern: 'a b' })),
      /SHOP cannot carry the pattern 'a b': it has a blank/
    )
  })

  it('is a packet as that of Nest, with its number if it is a request', () => {
    for (const [given, packet] of [
      [{ data: { n: 1 } }, { pattern: 'p', data: { n: 1 }, id: '7' }],
      [{}, { pattern: 'p', id: '7' }],
      [
        { kind: 'event', data: 1 },
        { pattern: 'p', data: 1 }
      ],
      [{ kind: 'event' }, { pattern: 'p' }]
    ] as const) {
      const one = call(given)
      assert.deepEqual(JSON.parse(packetOf(one, writer.write(one))), packet)
    }
    assert.equal(eventOf('{"pattern":"p"', undefined), '{"pattern":"p"}')
  })

  it('has the data and headers of a record of Nest, those of the call before them', () => {
    const data = new Recorded({ n: 1 }, { a: '1', b: ['2', '3'] })
    const { json, headers } = writer.write(call({ data, headers: { a: '9' } }))
    assert.deepEqual([json, headers], ['{"n":1}', { a: '9', b: ['2', '3'] }])
    assert.deepEqual(writer.write(call({ data })).headers, data.headers)
    assert.deepEqual(writer.write(call({ headers: { a: '9' } })).headers, { a: '9' })
    assert.equal(writer.write(call({ data: new Recorded(1) })).headers, undefined)
  })

  it('is refused with a header that the engine cannot carry, or that is of this library', () => {
    assert.throws(() => writer.write(call({ headers: { bad: '1' } })), {
      path: 'options.headers["bad"]',
      message: 'options.headers["bad"] cannot be a header of SHOP: it has a bad name'
    })
    assert.throws(() => writer.write(call({ data: new Recorded(1, { 'elysia-x': '1' }) })), {
      name: 'OptionError'
    })
  })

  it('may have a stream as its data, an event may not', () => {
    async function* values() {
      yield 1
    }
    const data = values()
    const { input, json } = writer.write(call({ data }))
    assert.deepEqual([input, json], [data, undefined])
    assert.equal(writer.write(call({ data: null })).json, 'null')
    assert.throws(() => writer.write(call({ kind: 'event', data })), {
      path: 'data',
      message: 'An event over SHOP cannot carry a stream; a request can'
    })
  })
})
