import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { headers as newHeaders } from '@nats-io/transport-node'
import {
  headersIn,
  mostOfHeaders,
  readHeaders,
  recordOf,
  sizeOfHeaders,
  whyNoHeader,
  writeHeaders
} from './headers.ts'

describe('headers over NATS', () => {
  it('are read as they were written, with several values of one name joined', () => {
    const written = writeHeaders({ one: '1', many: ['a', 'b'] })
    assert.deepEqual(readHeaders(written), { one: '1', many: 'a, b' })
    assert.deepEqual([written.get('one'), written.values('many')], ['1', ['a', 'b']])
    assert.deepEqual([readHeaders(undefined), readHeaders(newHeaders())], [undefined, undefined])
  })

  it('that cannot be written are refused by their name', () => {
    assert.throws(() => writeHeaders({ 'a b': '1' }), { name: 'OptionError', path: 'options.headers["a b"]' })
  })

  it('that another program has written may be unreadable', () => {
    const unreadable = {
      get headers(): never {
        throw new Error('bad')
      }
    }
    assert.deepEqual([headersIn(unreadable), headersIn({})], [null, undefined])
  })

  it('are not sent if NATS would obey them, or change them', () => {
    for (const [name, value, why] of [
      ['Nats-Rollup', 'sub', /belongs to NATS/],
      ['nats-x', ['1'], /belongs to NATS/],
      ['x', ' a', /blank/],
      ['x', ['a', 'b '], /blank/],
      ['x', '\ud800', /surrogate/]
    ] as const)
      assert.match(whyNoHeader(name, value) ?? '', why)
    for (const value of ['', 'a b', ['a', 'b'], 5 as unknown as string])
      assert.equal(whyNoHeader('x-nats-y', value), undefined)
  })

  it('have a size in bytes, and a bound of it that needs no encoding', () => {
    const none = newHeaders()
    assert.deepEqual([sizeOfHeaders(none), mostOfHeaders(none)], [12, 48])
    const some = newHeaders()
    some.append('ab', 'ü')
    some.append('ab', '12')
    assert.equal(sizeOfHeaders(some), 'NATS/1.0\r\n\r\n'.length + 'ab: uu\r\n'.length + 'ab: 12\r\n'.length)
    assert.equal(mostOfHeaders(some), 3 * (16 + 'ab: u\r\n'.length + 'ab: 12\r\n'.length))
    assert.ok(mostOfHeaders(some) >= sizeOfHeaders(some))
  })

  it("come from the records of NestJS's users, and from nothing else", () => {
    class NatsRecord {
      constructor(
        readonly data: unknown,
        readonly headers: unknown
      ) {}
    }
    const given = newHeaders()
    given.append('x', '1')
    given.append('x', '2')
    assert.deepEqual(recordOf(new NatsRecord(5, given)), { data: 5, headers: { x: ['1', '2'] } })
    assert.deepEqual(recordOf(new NatsRecord(5, undefined)), { data: 5, headers: undefined })
    class Other extends NatsRecord {}
    class WithoutHeaders {}
    Object.defineProperty(WithoutHeaders, 'name', { value: 'NatsRecord' })
    for (const value of [
      5,
      null,
      undefined,
      { data: 5, headers: given },
      new Other(5, given),
      new WithoutHeaders()
    ])
      assert.equal(recordOf(value), undefined)
  })
})
