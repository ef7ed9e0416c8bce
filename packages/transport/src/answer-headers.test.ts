/** Tests the headers beside an answer: what a handler may set, and their form on every wire. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ASKS_FOR_HEADERS, inFront, readAnswerHeaders, readFront, SentSet } from './answer-headers.ts'
import { OptionError, ProtocolError } from './errors/index.ts'
import { IncomingMessage } from './message.ts'

const BYTES = Uint8Array.of(0, 1, 254, 255)

/** The message of a caller who asks for headers. */
function asked(kind: 'request' | 'event' = 'request', metadata: object = { [ASKS_FOR_HEADERS]: '1' }) {
  return new IncomingMessage({
    transport: 'test',
    kind,
    pattern: 'orders.get',
    route: 'orders.get',
    data: undefined,
    metadata
  })
}

const read = (json: string | undefined) => (json === undefined ? undefined : readAnswerHeaders(json))

describe('what a handler sets beside its answer', () => {
  it('is sent with the first value, and at the end, each once', () => {
    const message = asked()
    message.set.headers['tenant'] = 'acme'
    message.set.headers['trace-bin'] = BYTES
    message.set.trailers['cost'] = '7'
    assert.deepEqual(read(message.takeSet(false)), {
      headers: { tenant: 'acme', 'trace-bin': BYTES }
    })
    assert.equal(message.takeSet(false), undefined)
    message.set.trailers['cost'] = '8'
    assert.deepEqual(read(message.takeSet(true)), { trailers: { cost: '8' } })
    assert.equal(message.takeSet(true), undefined)
  })

  it('is sent together where the answer is one value', () => {
    const message = asked()
    Object.assign(message.set.headers, { a: '1' })
    Object.assign(message.set.trailers, { b: '2' })
    assert.deepEqual(read(message.takeSet(true)), { headers: { a: '1' }, trailers: { b: '2' } })
  })

  it('is nothing, where nothing was set, and where the caller does not ask', () => {
    assert.equal(asked().takeSet(true), undefined)
    const untouched = asked()
    assert.deepEqual({ ...untouched.set.headers }, {})
    assert.equal(untouched.takeSet(true), undefined)
    const quiet = asked('request', {})
    quiet.set.headers['tenant'] = 'acme'
    assert.equal(quiet.takeSet(true), undefined)
  })

  it('is refused where it would go nowhere, with what to do instead', () => {
    const message = asked()
    message.takeSet(false)
    const late = (path: string, advice: RegExp) => (error: unknown) => {
      assert.ok(error instanceof OptionError)
      assert.equal(error.path, path)
      assert.match(error.message, advice)
      return true
    }
    const set = (headers: Record<string, unknown>, name: string, value: unknown) => () => {
      headers[name] = value
    }
    assert.throws(set(message.set.headers, 'a', '1'), late('set.headers["a"]', /use set\.trailers/))
    const early = asked()
    early.set.headers['a'] = '1'
    early.takeSet(true)
    assert.throws(set(early.set.headers, 'a', '2'), late('set.headers["a"]', /use set\.trailers/))
    assert.throws(set(early.set.trailers, 'a', '2'), late('set.trailers["a"]', /has ended/))
    assert.throws(() => Object.assign(asked().set, { headers: {} }), TypeError)
    assert.throws(() => asked('event').set, late('set', /The event 'orders\.get' has no answer/))
  })

  it('is texts, and bytes under names that end in -bin', () => {
    const { headers } = asked().set as { headers: Record<string, unknown> }
    for (const [name, value, expected] of [
      ['count', 1, /a text/],
      ['bytes', BYTES, /a name that ends in '-bin'/],
      ['trace-bin', 'text', /bytes or a list of them, because its name ends in '-bin'/],
      ['trace-bin', [], /bytes or a list of them/],
      ['trace-bin', [BYTES, 'text'], /bytes or a list of them/],
      ['none', undefined, /a text/],
      ['elysia-timeout', '1', /is a reserved name/]
    ] as const)
      assert.throws(
        () => {
          headers[name] = value
        },
        { name: 'OptionError', message: expected }
      )
    assert.deepEqual(Object.keys(headers), [])
  })
})

describe('headers on the wire', () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !text.startsWith('elysia-'))
  const some = fc
    .array(
      fc.oneof(
        fc.tuple(name, fc.string()),
        fc.tuple(name, fc.uint8Array({ maxLength: 300 })),
        fc.tuple(name, fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: 2, maxLength: 3 }))
      )
    )
    .map((entries) => {
      const set = new SentSet(false)
      for (const [key, value] of entries) {
        if (typeof value === 'string' && key.endsWith('-bin')) continue
        set.headers[typeof value === 'string' ? key : `${key}-bin`] = value as never
      }
      return set
    })

  it('read as they were written', () => {
    fc.assert(
      fc.property(some, fc.string(), (set, words) => {
        const written = { ...set.headers }
        const json = set.take(true)
        if (json === undefined) return assert.deepEqual(written, {})
        const front = readFront(inFront(json, words))
        assert.equal(front?.words, words)
        const { headers } = readAnswerHeaders(front.json)
        assert.deepEqual(Object.entries(headers ?? {}), Object.entries(written))
      })
    )
  })

  it('that are malformed are an error, and never something else', () => {
    for (const json of ['', '{', '{"headers":{"a-bin":"*"}}'])
      assert.throws(() => readAnswerHeaders(json), ProtocolError, json)
    for (const text of ['+h', '+h5', '+hx {}', '+h1 {}', '+h-1 {}', '+h1e1 {}'])
      assert.throws(() => readAnswerHeaders(readFront(text)?.json ?? '{}'), ProtocolError, text)
    for (const json of ['null', '5', '[]', '{}', '{"headers":7}'])
      assert.equal(readAnswerHeaders(json).headers, undefined, json)
    assert.equal(readFront('+d5'), undefined)
    assert.deepEqual(readAnswerHeaders('{"headers":{"a":1,"b":"2"}}').headers, { b: '2' })
  })
})
