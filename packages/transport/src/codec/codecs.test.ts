import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, isInCheck, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { Packr } from 'msgpackr/pack'
import { ByteWriter } from '../bytes/byte-writer.ts'
import { OptionError, ProtocolError } from '../errors/index.ts'
import '../msgpack.ts'
import '../shapes.ts'
import type { Codec } from './codec.ts'
import { codecNames, hasCodec, knownMimeTypes, mimeTypeOfCodec, openCodec } from './codecs.ts'

const structured = ['json', 'shapes', 'msgpack'] as const
const packed = ['msgpack'] as const

const open = (name: string) => openCodec(mimeTypeOfCodec(name)) as Codec

function encode(codec: Codec, value: unknown): Buffer {
  const out = new ByteWriter()
  out.data(codec.encode(value))
  // The bytes are never at the start of their buffer, as in a chunk from a socket.
  return Buffer.concat([Buffer.from('before'), out.written, Buffer.from('after')])
}

function decode(codec: Codec, bytes: Buffer): unknown {
  return codec.decode(bytes, 'before'.length, bytes.length - 'after'.length)
}

/**
 * Returns a function that encodes a value with one codec and decodes it with another, as the two ends of a connection
 * do.
 */
function pair(name: string): (value: unknown) => unknown {
  const [near, far] = [open(name), open(name)]
  return (value) => decode(far, encode(near, value))
}

/** Values that JSON can carry, without -0, which JSON writes as 0. */
const jsonValues = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  .filter((value) => !JSON.stringify(value).includes('__proto__'))

describe('codecs', () => {
  it('are known by MIME type and by short names', () => {
    assert.deepEqual(knownMimeTypes(), [
      'application/json',
      'application/octet-stream',
      'application/x-msgpack',
      'application/x-json-shapes'
    ])
    for (const name of ['bytes', ...structured]) assert.ok(knownMimeTypes().includes(mimeTypeOfCodec(name)))
    assert.deepEqual(codecNames(), ['json', 'bytes', 'msgpack', 'shapes'])
    for (const type of knownMimeTypes()) assert.ok(hasCodec(type) && openCodec(type)?.mimeType === type)
    assert.equal(openCodec('text/plain'), undefined)
    assert.equal(hasCodec('text/plain'), false)
  })

  for (const name of structured) {
    describe(name, () => {
      it('gives back any data, one value after the other', () => {
        fc.assert(
          fc.property(fc.array(jsonValues, { maxLength: 20, size: 'max' }), (values) => {
            const through = pair(name)
            for (const value of values) assert.deepEqual(through(value), value)
          })
        )
      })

      it('takes no bytes for undefined', () => {
        const codec = open(name)
        assert.equal(encode(codec, undefined).length, 'beforeafter'.length)
        assert.equal(pair(name)(undefined), undefined)
      })

      it('refuses bytes that are none of its own, and nothing else happens', () => {
        fc.assert(
          fc.property(fc.uint8Array({ minLength: 1, maxLength: 60, size: 'max' }), (bytes) => {
            const codec = open(name)
            try {
              codec.decode(Buffer.from(bytes), 0, bytes.length)
            } catch (error) {
              assert.ok(error instanceof ProtocolError, String(error))
            }
          }),
          { numRuns: runs(3_000) }
        )
        assert.equal(Object.getPrototypeOf({}), Object.prototype)
      })

      it('refuses data of more than 1,000 levels, of any kind, and carries the others', () => {
        const nest = (levels: number, wrap: (value: unknown) => unknown): unknown => {
          let value: unknown = 'core'
          for (let level = 0; level < levels; level++) value = wrap(value)
          return value
        }
        const wraps: ((value: unknown) => unknown)[] = [
          (value) => [value],
          (value) => ({ a: value }),
          (value) => [1, { a: 'x', b: value }, 2]
        ]
        for (const wrap of wraps) {
          const each = wrap === wraps[0] || wrap === wraps[1] ? 1 : 2
          const honest = nest(1_000 / each, wrap)
          assert.deepEqual(pair(name)(honest), honest)
          assert.throws(() => pair(name)(nest(1_002 / each, wrap)), {
            name: 'ProtocolError',
            message: /more than 1000 levels/
          })
        }
      })

      it('cannot be made to change prototypes', () => {
        const value = JSON.parse(
          '{"a":{"__proto__":{"polluted":true}},"constructor":{"prototype":{"polluted":1}}}'
        )
        const bytes =
          name === 'msgpack'
            ? Buffer.from(new Packr({ useRecords: false }).pack(value))
            : Buffer.from(open(name).encode(value) as Uint8Array)
        const received = open(name).decode(bytes, 0, bytes.length) as Record<string, unknown>
        assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
        assert.equal((Object(received['a']) as Record<string, unknown>)['polluted'], undefined)
      })
    })
  }

  const exact: [what: string, value: unknown][] = [
    ['a date', new Date('2026-11-21T12:34:56.789Z')],
    ['a date before 1970', new Date(-1_234)],
    [
      'a Map',
      new Map<unknown, unknown>([
        [1, 'one'],
        ['two', { deep: new Map([[[1], new Map()]]) }]
      ])
    ],
    ['a Set', new Set([1, 'two', new Set([{ a: 1 }])])],
    ['a small bigint', 5n],
    ['a negative bigint', -5n],
    ['a bigint of 64 bits', 2n ** 63n - 1n],
    ['an unsigned bigint of 64 bits', 2n ** 64n - 1n],
    ['a bigint beyond 64 bits', -(2n ** 200n)],
    ['a number beyond 32 bits', 1_700_000_000_000],
    ['the largest exact number', Number.MAX_SAFE_INTEGER],
    ['what is no number', Number.NaN],
    ['infinity', Number.NEGATIVE_INFINITY],
    ['undefined in an object', { a: undefined, b: 1 }],
    ['undefined in a list', [undefined, null]],
    ['floats', new Float64Array([1.5, Number.NaN])],
    ['integers of 16 bits', new Int16Array([1, -2])],
    ['big integers of 64 bits', new BigInt64Array([1n, -2n])],
    [
      'a Map of everything',
      new Map<unknown, unknown>([
        ['d', new Date(0)],
        ['s', new Set([1n])],
        ['u', undefined]
      ])
    ],
    [
      'many keys',
      Object.fromEntries(
        Array.from({ length: isInCheck ? 7_000 : 70_000 }, (_, index) => [`key${index}`, index])
      )
    ]
  ]
  for (const name of packed) {
    describe(`${name} keeps`, () => {
      for (const [what, value] of exact) {
        it(what, () => {
          assert.deepEqual(pair(name)(value), value)
          assert.deepEqual(pair(name)([{ value }, value]), [{ value }, value])
        })
      }

      it('bytes, and they outlive the chunk they came in', () => {
        const [near, far] = [open(name), open(name)]
        const bytes = encode(near, { bytes: new Uint8Array([1, 2, 3]), buffer: Buffer.from('text') })
        const received = decode(far, bytes) as { bytes: Uint8Array; buffer: Buffer }
        bytes.fill(0)
        assert.ok(received.bytes instanceof Uint8Array)
        assert.deepEqual([...received.bytes], [1, 2, 3])
        assert.equal(received.buffer.toString(), 'text')
      })

      it('any value of these kinds', () => {
        const anything = fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          maxDepth: 3
        })
        fc.assert(
          fc.property(anything, (value) => {
            fc.pre(!hasOddities(value))
            assert.deepEqual(normalized(pair(name)(value)), normalized(value))
          })
        )
      })
    })
  }

  const lost: [what: string, value: unknown, path: string, wrong: string][] = [
    ['a Map', { a: [{ m: new Map([[1, 2]]) }] }, 'data.a[0].m', 'a Map'],
    ['a Set', new Set([1]), 'data', 'a Set'],
    ['an empty Map', { m: new Map() }, 'data.m', 'a Map'],
    ['bytes', { 'a-b': new Uint8Array([1]) }, 'data["a-b"]', 'an Uint8Array'],
    ['empty bytes', [new Uint8Array()], 'data[0]', 'an Uint8Array'],
    ['an ArrayBuffer', { b: new ArrayBuffer(3) }, 'data.b', 'an ArrayBuffer'],
    ['a bigint', { list: [1, 2n] }, 'data.list[1]', 'a bigint'],
    ['NaN', { n: Number.NaN }, 'data.n', 'not a finite number'],
    ['infinity', [Number.POSITIVE_INFINITY], 'data[0]', 'not a finite number'],
    ['a promise', { p: Promise.resolve(1) }, 'data.p', 'a Promise'],
    ['a regular expression', { r: /x/ }, 'data.r', 'a RegExp'],
    ['an error', { e: new TypeError('x') }, 'data.e', 'a TypeError'],
    ['a function', () => 1, 'data', 'a function'],
    ['a function in a list', [() => 1], 'data[0]', 'a function'],
    ['a symbol', Symbol('x'), 'data', 'a symbol']
  ]
  describe('json and shapes refuse', () => {
    for (const [what, value, path, wrong] of lost) {
      it(`${what}, and say where it stands`, () => {
        for (const name of ['json', 'shapes'])
          assert.throws(
            () => encode(open(name), value),
            (error) => error instanceof OptionError && error.path === path && error.message.includes(wrong),
            String(value)
          )
      })
    }
  })

  it('json carries what only looks like a loss', () => {
    class Ping {}
    const through = pair('json')
    const value = { empty: {}, nothing: null, text: '{} null {"0":1}', zero: { 0: 'x' } }
    assert.deepEqual(through(value), value)
    assert.deepEqual(through({ ping: new Ping(), left: undefined, out: () => 1 }), { ping: {} })
    assert.deepEqual(through([undefined, null]), [null, null])
    assert.deepEqual(through({ at: new Date(0), empty: {} }), { at: '1970-01-01T00:00:00.000Z', empty: {} })
  })

  describe('json writes and reads texts as JSON itself does', () => {
    // Text with many characters that JSON escapes or does not allow.
    const units = fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\0',
      '\u001f',
      '\u007f',
      '\ud83d',
      '\ude00',
      '\u2028',
      'é',
      '€',
      'a'
    )
    const texts = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 300, size: 'max' }),
      fc.array(units, { maxLength: 300, size: 'max' }).map((list) => list.join(''))
    )

    it('byte for byte', () => {
      fc.assert(
        fc.property(texts, (text) => {
          const out = new ByteWriter()
          out.data(open('json').encode(text))
          assert.equal(Buffer.from(out.written).toString(), JSON.stringify(text))
        })
      )
    })

    it('whatever stands between quotes, or before and behind them', () => {
      const inside = fc.oneof(
        texts,
        texts.map((text) => JSON.stringify(text).slice(1, -1))
      )
      const around = fc.constantFrom('', '', '', ' ', '"', '\n')
      fc.assert(
        fc.property(around, inside, around, (before, text, behind) => {
          const bytes = Buffer.from(`before${before}"${text}"${behind}after`)
          const json = bytes.toString('utf8', 'before'.length, bytes.length - 'after'.length)
          let expected: unknown
          try {
            expected = JSON.parse(json)
          } catch {
            return assert.throws(() => decode(open('json'), bytes), ProtocolError)
          }
          assert.equal(decode(open('json'), bytes), expected)
        }),
        { numRuns: runs(1_000) }
      )
    })

    it('one quote is none', () => {
      assert.throws(() => decode(open('json'), Buffer.from('before"after')), ProtocolError)
    })
  })

  for (const name of structured) {
    it(`${name} says where a cycle is`, () => {
      const value: Record<string, unknown> = { deep: { list: [1] } }
      ;(value['deep'] as Record<string, unknown>)['self'] = value
      assert.throws(
        () => encode(open(name), value),
        (error) =>
          error instanceof OptionError &&
          error.path === 'data.deep.self' &&
          /contains itself/.test(error.message)
      )
    })
  }

  describe('msgpack, as other libraries have it', () => {
    const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
    const forms: [value: unknown, hex: string][] = [
      [{ a: 1 }, '81 a161 01'],
      [[1, 'x', true, null], '94 01 a178 c3 c0'],
      [Buffer.from([1, 2]), 'c402 0102'],
      [new Uint8Array([1, 2]), 'c402 0102'],
      [100, '64'],
      [new Date(1_000), 'd6ff 00000001'],
      [5n, 'd549 a135'],
      [new Map([[1, 2]]), 'd64d 91920102'],
      [new Set([1]), 'd553 9101'],
      [2n ** 60n, 'd3 1000000000000000']
    ]
    for (const [value, hex] of forms) {
      it(`writes ${hex}`, () => {
        const out = new ByteWriter()
        out.data(open('msgpack').encode(value))
        assert.equal(Buffer.from(out.written).toString('hex'), hex.replaceAll(' ', ''))
      })
    }

    it('reads integers of 64 bits as numbers where they are exact', () => {
      const read = (hex: string) => open('msgpack').decode(bytes(hex), 0, bytes(hex).length)
      assert.equal(read('cf 0000018bcfe56800'), 1_700_000_000_000)
      assert.equal(read('d3 ffffffffffffffff'), -1)
      assert.equal(read('cf ffffffffffffffff'), 2n ** 64n - 1n)
    })
  })
})

/**
 * Returns whether a value has parts that no codec promises to keep: -0, prototypes, invalid dates, holes, keys that are
 * objects, subclasses.
 */
function hasOddities(value: unknown): boolean {
  if (Object.is(value, -0) || typeof value === 'symbol') return true
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof Date) return Number.isNaN(value.getTime())
  if (ArrayBuffer.isView(value)) return false
  if (value instanceof Map)
    return [...value].some(
      ([key, member]) => typeof key === 'object' || hasOddities(key) || hasOddities(member)
    )
  if (value instanceof Set) return [...value].some(hasOddities)
  if ('__proto__' in value && Object.keys(value).includes('__proto__')) return true
  if (
    Object.keys(value).some((key) =>
      ['toJSON', 'constructor', 'hasOwnProperty', 'valueOf', 'toString'].includes(key)
    )
  )
    return true
  if (Object.getPrototypeOf(value) === null) return true
  if (Array.isArray(value) && Object.keys(value).length !== value.length) return true
  return Object.values(value).some(hasOddities)
}

/** Turns a Buffer into a Uint8Array, because bytes may be decoded as either. */
function normalized(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return new Uint8Array(value)
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [key, normalized(member)]))
  if (value instanceof Set) return new Set([...value].map(normalized))
  if (Array.isArray(value)) return value.map(normalized)
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normalized(member)]))
  }
  return value
}

describe('a getter that sends while its object is packed', () => {
  for (const name of packed) {
    it(`is refused with ${name}, and harms neither value`, () => {
      const [codec, far] = [open(name), open(name)]
      const refusals: unknown[] = []
      let reads = 0
      const value = {
        before: 1,
        get member() {
          // The first read of the getter happens before the codec packs anything.
          if (++reads > 1) {
            try {
              codec.encode({ inner: true })
            } catch (error) {
              refusals.push(error)
            }
          }
          return 2
        },
        after: 3
      }
      assert.deepEqual(decode(far, encode(codec, value)), { before: 1, member: 2, after: 3 })
      assert.ok(refusals.length > 0 && refusals.every((error) => error instanceof OptionError))
      assert.deepEqual(decode(far, encode(codec, { inner: true })), { inner: true })
    })
  }
})
