/** Shapes carry and refuse what JSON does, whatever the value is, and survive any bytes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { ByteWriter } from '../../bytes/byte-writer.ts'
import { ProtocolError } from '../../errors/index.ts'
import type { Codec } from '../codec.ts'
import { jsonCodec } from '../json.ts'
import {
  CHUNK,
  HEAD,
  hashOf,
  LIST,
  MARK,
  OBJECT,
  SHAPE_HEAD,
  SHORT_LIST,
  SHORT_TEXT,
  SMALL
} from './format.ts'
import { compileMaker, fill, templateOf } from './objects.ts'
import { shapesCodec } from './shapes.ts'

function encode(value: unknown, codec: Codec = shapesCodec): Buffer {
  const out = new ByteWriter()
  out.data(codec.encode(value))
  return Buffer.from(out.written)
}

const decode = (bytes: Buffer, codec: Codec = shapesCodec): unknown => codec.decode(bytes, 0, bytes.length)

/** The value that arrives, or the error with which a codec refuses it. */
function outcome(codec: Codec, value: unknown): unknown {
  let bytes: Buffer
  try {
    bytes = encode(value, codec)
  } catch (error) {
    return String(error)
  }
  return decode(bytes, codec)
}

/** Values of JSON, in which keys and texts come again, as in real data. */
const names = fc.constantFrom('id', 'name', '0', '__proto__', 'toJSON', '', 'é', '\ud83d\ude00', 'a\u0001b')
const texts = fc.string({ unit: fc.oneof(ANY_CHARACTER, fc.constantFrom('\ud83d', '\ude00')), maxLength: 80 })
const { value: jsonValues } = fc.letrec((again) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    texts,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, 63, 64, -1, -0, 2 ** 31, -(2 ** 31), 1e300),
    fc.array(again('value'), { maxLength: 40 }),
    fc.array(fc.record({ id: again('value'), name: texts, left: fc.boolean() }, { requiredKeys: ['id'] })),
    fc.array(fc.tuple(fc.oneof(names, texts), again('value')), { maxLength: 8 }).map((entries) => {
      const text = entries.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`).join()
      return JSON.parse(`{${text}}`) as unknown
    })
  )
}))

describe('shapes', () => {
  it('are not JSON for plain data, dates and objects of classes', () => {
    class Row {
      readonly at = new Date(0)
    }
    for (const value of [[], {}, { a: 1 }, [new Row()], { left: undefined, right: new Date(0) }]) {
      // The random keys of other tests have looked like data, and keep new shapes out, but not for ever.
      for (let times = 0; times < 5_000 && encode(value)[0] !== MARK; times++);
      assert.equal(encode(value)[0], MARK)
    }
    for (const value of ['text', 1, true, null, Object.create(null) as object])
      assert.notEqual(encode(value)[0], MARK)
  })

  it('give back what JSON gives back, for any value of JSON', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const json = JSON.stringify(value)
        const arrived = decode(encode(value))
        assert.deepEqual(arrived, JSON.parse(json))
        // The order of keys is the same, too.
        assert.equal(JSON.stringify(arrived), json)
      }),
      { numRuns: runs(1_000) }
    )
  })

  it('do what JSON does with any other value: the same arrives, or the same is refused', () => {
    class Row {
      readonly id: unknown
      readonly at = new Date(0)
      constructor(id: unknown) {
        this.id = id
      }
      act(): void {}
    }
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      maxDepth: 3
    })
    const wrapped = fc.oneof(
      anything,
      anything.map((value) => new Row(value)),
      anything.map((value) => [{ a: value, act() {} }, new Row([value])]),
      anything.map((value) => ({ a: { toJSON: () => value } })),
      anything.map((value) => [Object.create({ toJSON: () => value, inherited: 1 })]),
      anything.map((value) => [Object.assign(Object.create({ inherited: 1 }), { own: value })]),
      anything.map((value) => Object.assign([value], { toJSON: () => 'a list with a form' }))
    )
    fc.assert(
      fc.property(wrapped, (value) => {
        assert.deepEqual(outcome(shapesCodec, value), outcome(jsonCodec, value))
      }),
      { numRuns: runs(2_000) }
    )
  })

  it('remain right while thousands of shapes come and go', () => {
    for (let round = 0; round < 2_100; round++) {
      const value = { stays: round, list: [{ [`key${round}`]: round, [`other${round % 7}`]: {} }, { x: 1 }] }
      const bytes = encode(value)
      assert.deepEqual(decode(bytes), value)
      assert.deepEqual(decode(bytes), value)
    }
  })

  it('carry an object of many keys, and a list of many shapes', () => {
    const many = Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`key${index}`, index]))
    const shapes = Array.from({ length: 40 }, (_, index) => ({ [`key${index}`]: index }))
    for (const value of [many, shapes, [shapes.slice(8), many]])
      assert.deepEqual(decode(encode(value)), value)
  })

  it('make the same objects by code as without, whatever the keys are', () => {
    const keys = fc.uniqueArray(
      fc.oneof(names, texts, fc.constantFrom('"', "'", '`$', '\\', '\n', '\u2028', '"]:0}', 'constructor')),
      { maxLength: 8 }
    )
    fc.assert(
      fc.property(keys, (keys) => {
        const made = [
          compileMaker(keys),
          (readNext: () => unknown) => fill(templateOf(keys), keys, readNext)
        ].map((maker) => {
          let read = 0
          return maker?.(() => ++read)
        })
        assert.deepEqual(made[0], made[1])
        assert.deepEqual(Object.getOwnPropertyDescriptors(made[0]), Object.getOwnPropertyDescriptors(made[1]))
        assert.equal(JSON.stringify(made[0]), JSON.stringify(made[1]))
      }),
      { numRuns: runs(1_000) }
    )
    const bytes = encode([{ id: 1, ['__proto__']: 2 }])
    const first = JSON.stringify(decode(bytes))
    for (let round = 0; round < 500; round++) assert.equal(JSON.stringify(decode(bytes)), first)
  })

  it('are not disturbed by a getter that sends while its object is written', () => {
    let inner: Buffer | undefined
    const value = {
      before: 'b',
      get member() {
        inner = encode({ inner: ['i'] })
        return 'm'
      },
      after: 'a'
    }
    assert.deepEqual(decode(encode(value)), { before: 'b', member: 'm', after: 'a' })
    assert.deepEqual(decode(inner as Buffer), { inner: ['i'] })
  })

  it('obey what a program adds to the prototype of all lists', () => {
    const added = { value: () => 'a form', configurable: true, writable: true }
    Object.defineProperty(Array.prototype, 'toJSON', added)
    try {
      assert.equal(decode(encode([1])), 'a form')
    } finally {
      delete (Array.prototype as { toJSON?: unknown }).toJSON
    }
  })
})

describe('bytes that are no message of shapes', () => {
  const refusesOrReads = (bytes: Buffer) => {
    let value: unknown
    try {
      value = decode(bytes)
    } catch (error) {
      return assert.ok(error instanceof ProtocolError, String(error))
    }
    const again = outcome(jsonCodec, value)
    // As JSON does, shapes read a number that is too large as Infinity, which neither writes.
    if (String(again).endsWith('it is not a finite number')) return
    // Only values of JSON arrive.
    assert.deepEqual(again, value)
  }

  it('are refused, or read as another value, and nothing else happens', () => {
    const changes = fc.array(
      fc.record({ at: fc.nat(400), byte: fc.nat(255), how: fc.constantFrom('set', 'cut', 'insert') }),
      { minLength: 1, maxLength: 4 }
    )
    fc.assert(
      fc.property(fc.oneof(jsonValues, fc.constant([{ id: 1, a: ['b'] }])), changes, (value, list) => {
        let bytes = encode([value])
        for (const { at, byte, how } of list) {
          const place = at % (bytes.length + 1)
          const behind = bytes.subarray(place + (how === 'insert' ? 0 : 1))
          const between = how === 'cut' ? [] : [byte]
          bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(between), behind])
        }
        refusesOrReads(bytes)
      }),
      { numRuns: runs(1_000) }
    )
    assert.equal(Object.getPrototypeOf({}), Object.prototype)
  })

  it('are refused as random bytes behind the mark, too', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60, size: 'max' }), (bytes) => {
        refusesOrReads(Buffer.from([MARK, 0, 0, 0, bytes.length >> 2, ...bytes]))
      }),
      { numRuns: runs(3_000) }
    )
  })

  /** A message without shapes. */
  function message(body: readonly number[], ...chunks: string[]): Buffer {
    const parts = chunks.map((chunk) => [...uint32(Buffer.byteLength(chunk)), ...Buffer.from(chunk)])
    return Buffer.from([MARK, ...uint32(body.length), ...body, 0, ...parts.flat()])
  }
  const uint32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
  const refused = (bytes: Buffer) => assert.throws(() => decode(bytes), ProtocolError)

  it('are refused if a length lies, or something is left over', () => {
    const list = (length: number, ...items: number[]) => [SHORT_LIST | length, ...items]
    assert.deepEqual(decode(message(list(1, SHORT_TEXT | 2), 'ab')), ['ab'])
    refused(message(list(1, SHORT_TEXT | 3), 'ab'))
    refused(message(list(1, SHORT_TEXT | 1), 'ab'))
    refused(message(list(0), 'ab'))
    refused(message(list(2, SHORT_TEXT | 0)))
    refused(message([...list(0), 0]))
    refused(message([0x06, ...uint32(0xffff_ffff), 0]))
    refused(message([0xe0]))
    refused(message(list(1, 0x3f)))
    const whole = message(list(1, SHORT_TEXT | 2), 'ab')
    for (let length = 1; length < whole.length; length++) refused(whole.subarray(0, length))
    refused(Buffer.concat([whole, Buffer.of(0)]))
  })

  it('are refused before they take memory, if lists or objects within others promise the same bytes again', () => {
    const size = 100_000
    const levels = 900
    const keys = Array.from({ length: 10_000 }, (_, index) => index.toString(36)).join('\u0001')
    const shape = Buffer.alloc(SHAPE_HEAD + keys.length)
    shape.writeUInt32BE(hashOf(Buffer.from(keys), 0, keys.length))
    shape.writeUInt16BE(keys.length, 4)
    shape.write(keys, SHAPE_HEAD)
    const lists = Buffer.alloc(size)
    for (let at = 0; at < levels * 5; at += 5) {
      lists[at] = LIST
      lists.writeUInt32BE(size - at - 5, at + 1)
    }
    const objects = Buffer.alloc(size).fill(OBJECT, 0, levels)
    const before = process.memoryUsage().rss
    refused(Buffer.concat([Buffer.from([MARK, ...uint32(size)]), lists, Buffer.of(0)]))
    refused(Buffer.concat([Buffer.from([MARK, ...uint32(size)]), objects, Buffer.of(1), shape]))
    assert.ok(process.memoryUsage().rss - before < 200e6)
  })

  it('are refused if many texts share a long chunk, because a text that is kept would keep all of it', () => {
    const many = Math.ceil((CHUNK + 1) / 31)
    const body = [SHORT_LIST | many, ...Array.from({ length: many }, () => SHORT_TEXT | 31)]
    refused(message(body, 'x'.repeat(31 * many)))
    const bytes = encode(Array.from({ length: 200 }, (_, index) => `text ${index} ${'x'.repeat(20)}`))
    for (let at = HEAD + bytes.readUInt32BE(1) + 1; at < bytes.length; ) {
      const length = bytes.readUInt32BE(at)
      assert.ok(length <= CHUNK)
      at += 4 + length
    }
  })

  it('are refused if a shape has a key twice, or the hash of another', () => {
    const withShape = (keys: string, hash: number) => {
      const body = [OBJECT, SMALL | 1, SMALL | 2]
      const shape = [...uint32(hash), 0, keys.length, ...Buffer.from(keys)]
      return Buffer.from([MARK, ...uint32(body.length), ...body, 1, ...shape])
    }
    const hash = (keys: string) => hashOf(Buffer.from(keys), 0, keys.length)
    assert.deepEqual(decode(withShape('a\u0001b', hash('a\u0001b'))), { a: 1, b: 2 })
    refused(withShape('a\u0001a', hash('a\u0001a')))
    refused(withShape('a\u0001c', hash('a\u0001b')))
  })
})
