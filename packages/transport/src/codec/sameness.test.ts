/** The codecs treat each kind of value the same, unless docs/protocol.md says otherwise. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Packr } from 'msgpackr/pack'
import { ByteWriter } from '../bytes/byte-writer.ts'
import { OptionError, ProtocolError } from '../errors/index.ts'
import '../msgpack.ts'
import '../shapes.ts'
import type { Codec } from './codec.ts'
import { mimeTypeOfCodec, openCodec } from './codecs.ts'

/** Stands for a value that a codec refuses, with the path that the error names, if it names one. */
class Refused {
  readonly path: string | undefined
  constructor(path?: string) {
    this.path = path
  }
}

const open = (name: string) => openCodec(mimeTypeOfCodec(name)) as Codec
const refused = (path?: string) => new Refused(path)

class Money {
  readonly amount: number
  readonly format = () => `${this.amount} EUR`
  constructor(amount: number) {
    this.amount = amount
  }
}

class Temperature {
  toJSON(): unknown {
    return { degrees: 20, unit: Object('C') }
  }
}

const bytes = Uint8Array.of(1, 2, 3)
const own = JSON.parse('{"__proto__":{"a":1}}') as unknown

/**
 * Rows of a name, a value, what arrives through JSON and shapes, and what arrives through MessagePack if that
 * differs.
 */
const VALUES: readonly (readonly [what: string, value: unknown, json: unknown, packed?: unknown])[] = [
  ['a Promise', { a: [Promise.resolve(1)] }, refused('data.a[0]')],
  ['a Promise alone', Promise.resolve(1), refused('data')],
  ['a WeakMap', { a: new WeakMap() }, refused('data.a')],
  ['a function', () => 1, refused('data')],
  ['a function in a list', [1, () => 1], refused('data[1]')],
  ['a symbol in a list', [Symbol('s')], refused('data[0]')],
  ['a member that is a function', { a: () => 1, b: 2 }, { b: 2 }],
  ['a member that is a symbol', { a: Symbol('s'), b: { c: 1, d: () => 1 } }, { b: { c: 1 } }],
  ['an object of a class', new Money(5), { amount: 5 }],
  ['an object that says its own form', [new Temperature()], [{ degrees: 20, unit: 'C' }]],
  ['a boxed number', { a: Object(5) }, { a: 5 }],
  ['a boxed text', [Object('five')], ['five']],
  ['a boxed boolean', Object(false), false],
  ['an error', { a: new TypeError('no') }, refused('data.a')],
  ['an error with members', Object.assign(new Error('no'), { left: 3 }), { left: 3 }, refused('data')],
  ['an error that says its own form', Object.assign(new Error(), { toJSON: () => 'E5' }), 'E5'],
  ['a regular expression', [/a+/g], refused('data[0]')],
  ['NaN', { a: Number.NaN }, refused('data.a'), { a: Number.NaN }],
  ['a bigint', { a: 5n }, refused('data.a'), { a: 5n }],
  ['undefined in an object', { a: undefined, b: 1 }, { b: 1 }, { a: undefined, b: 1 }],
  ['undefined in a list', [undefined], [null], [undefined]],
  [
    'a list with a hole, and an object of a class',
    [new Array(1), new Money(5)],
    [[null], { amount: 5 }],
    [[undefined], { amount: 5 }]
  ],
  ['a Map behind a hole', [new Array(1), new Map()], refused('data[1]'), [[undefined], new Map()]],
  ['a Date', new Date(5), '1970-01-01T00:00:00.005Z', new Date(5)],
  ['a Map', { a: new Map([[1, 2]]) }, refused('data.a'), { a: new Map([[1, 2]]) }],
  ['a Set of a Set', new Set([new Set([1])]), refused('data'), new Set([new Set([1])])],
  ['a Promise in a Map', new Map([[1, Promise.resolve()]]), refused('data'), refused('data.get(a number)')],
  ['a Uint8Array', { a: bytes }, refused('data.a'), { a: bytes }],
  ['a Float64Array', Float64Array.of(1.5), refused('data'), Float64Array.of(1.5)],
  ['an ArrayBuffer', { a: bytes.buffer }, refused('data.a'), { a: bytes.buffer }],
  ['a lone surrogate', ['a\ud83d'], ['a\ud83d'], refused('data[0]')],
  ['a lone surrogate as key', { '\ud83d': 1 }, { '\ud83d': 1 }, refused()],
  ['a key __proto__', own, own, refused()],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }]
]

describe('codecs carry the same', () => {
  for (const [what, value, json, packed = json] of VALUES) {
    for (const name of ['json', 'shapes', 'msgpack'] as const) {
      const expected = name === 'msgpack' ? packed : json
      it(`${name}: ${what} is ${expected instanceof Refused ? 'refused' : 'carried'}`, () => {
        const [near, far] = [open(name), open(name)]
        // Twice, because a refused value must leave nothing behind in the codec.
        for (let n = 0; n < 2; n++) {
          const out = new ByteWriter()
          if (expected instanceof Refused) {
            assert.throws(
              () => near.encode(value),
              (error) => error instanceof OptionError && error.path === (expected.path ?? 'data')
            )
            continue
          }
          out.data(near.encode(value))
          const received = far.decode(Buffer.from(out.written), 0, out.written.length)
          assert.deepEqual(withoutBuffers(received), expected)
        }
      })
    }
  }

  for (const name of ['msgpack']) {
    it(`${name}: what only peers of another kind write is refused`, () => {
      const packr = new Packr({ moreTypes: true, useRecords: false })
      for (const value of [/(a+)+$/, { a: [new Error('no')] }, new Set([/a/])]) {
        const packed = packr.pack(value)
        assert.throws(() => open(name).decode(packed, 0, packed.length), ProtocolError)
      }
    })
  }
})

/** Turns a Buffer into a Uint8Array, because bytes may be decoded as either. */
function withoutBuffers(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return new Uint8Array(value)
  const { a } = Object(value) as { a?: unknown }
  return Buffer.isBuffer(a) ? { a: new Uint8Array(a) } : value
}
