/** Bytes that are read at once, compared with what protobuf-es reads, which its own conformance tests judge. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { nestShapes } from '../options/nest-shapes.ts'
import { shapesOf } from '../options/shapes.ts'
import type { Proto } from '../proto.ts'
import type { ProtoShapes } from '../proto-shapes.ts'
import { protoOfText } from '../testing/of-text.ts'
import { randomProto } from '../testing/random-proto.ts'
import { ByteReaders, READING } from './from-bytes.ts'
import { MessageReader } from './from-message.ts'
import { NO_HINTS } from './hints.ts'

/** The two readers of a message. */
function readersOf(proto: Proto, typeName: string, shapes: ProtoShapes = {}) {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, proto.descriptors()))
  const desc = registry.getMessage(typeName)!
  const messages = new MessageReader(shapesOf(shapes), registry, NO_HINTS)
  return {
    fast: new ByteReaders(messages).of(desc),
    slow: (bytes: Uint8Array) => messages.of(desc)(fromBinary(desc, bytes, READING) as never)
  }
}

const SHAPES: readonly ProtoShapes[] = [
  {},
  { defaults: 'none', int64: 'string', enums: 'number', bytes: 'base64' },
  nestShapes({}),
  nestShapes({ longs: String, enums: String, defaults: true, oneofs: true, keepCase: true })
]

const cases = randomProto.chain(({ text, values }) =>
  fc.tuple(fc.constant(text), fc.array(values, { minLength: 1, maxLength: 4 }), fc.constantFrom(...SHAPES))
)

describe('the value of bytes', () => {
  it('is that of the message of protobuf-es, whatever the file and the shape', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([text, values, shapes]) => {
        const proto = await protoOfText(text)
        const { fast, slow } = readersOf(proto, 'random.M0', shapes)
        for (const value of values) {
          const bytes = proto.message('random.M0')!.encode(value)
          if (!JSON.stringify(value, withoutBigints).includes('\uFFFD'))
            assert.deepEqual(fast(bytes), slow(bytes))
        }
      }),
      { numRuns: runs(50) }
    )
  })

  it('is never another one than that of protobuf-es, whatever the bytes', async () => {
    const foreign = randomProto.chain(({ text, values }) =>
      fc.tuple(
        fc.constant(text),
        fc.tuple(values, values),
        fc.uint8Array({ maxLength: 12 }),
        fc.nat(100),
        fc.nat(255)
      )
    )
    await fc.assert(
      fc.asyncProperty(foreign, async ([text, [one, other], noise, at, byte]) => {
        const proto = await protoOfText(text)
        const { fast, slow } = readersOf(proto, 'random.M0')
        const { encode } = proto.message('random.M0')!
        const good = encode(one)
        const changed = good.slice()
        changed[at % (good.length + 1)] = byte
        const cut = good.subarray(0, at % (good.length + 1))
        const twice = Buffer.concat([good, encode(other)])
        for (const bytes of [noise, cut, changed, twice, Buffer.concat([noise, good])]) {
          const read = unlessThrown(() => fast(bytes))
          if (read !== undefined) assert.deepEqual(read.value, slow(bytes))
        }
      }),
      { numRuns: runs(60) }
    )
  })

  const FILE = `
    syntax = "proto2";
    package test;
    enum Closed { A = 0; B = 1; }
    message Part { optional int32 x = 1; optional int32 y = 2; }
    message Whole {
      optional Part part = 1;
      oneof one { int32 a = 2; string b = 3; }
      optional Closed closed = 4;
      repeated int32 packed = 5 [packed = true];
      repeated int32 each = 6;
      optional group Inner = 7 { optional int32 z = 1; }
      map<int32, string> map = 8;
      optional string text = 9;
    }
  `
  const whole: readonly [name: string, bytes: number[], value: object][] = [
    ['a message that comes twice is merged', [0x0a, 2, 8, 1, 0x0a, 2, 16, 2], { part: { x: 1, y: 2 } }],
    ['of a oneof the last field counts', [0x10, 1, 0x1a, 1, 98], { b: 'b' }],
    ['of a closed enum an unknown number is nothing', [0x20, 7], {}],
    ['a list is read in both forms', [0x28, 1, 0x2a, 1, 2, 0x32, 2, 3, 4], { packed: [1, 2], each: [3, 4] }],
    ['a group', [0x3b, 8, 1, 0x3c], { inner: { z: 1 } }],
    ['an entry without a key has the key 0', [0x42, 3, 0x12, 1, 97], { map: { 0: 'a' } }],
    ['an unknown field is nothing', [0xa0, 6, 1, 0xa2, 6, 1, 0, 0x4a, 1, 97], { text: 'a' }],
    ['an unknown group is nothing', [0xa3, 6, 8, 1, 0xa4, 6, 0x4a, 1, 97], { text: 'a' }],
    ['bytes that are no UTF-8 become U+FFFD in a text of proto2', [0x4a, 1, 0xff], { text: '\uFFFD' }]
  ]
  for (const [name, bytes, value] of whole)
    it(`is right where it is rare: ${name}`, async () => {
      const { decode } = (await protoOfText(FILE, { defaults: 'none' })).message('test.Whole')!
      assert.deepEqual(decode(Uint8Array.from(bytes)), value)
    })

  it('is right if a function of its shape reads another message meanwhile', async () => {
    const text = 'syntax = "proto3"; package test; message M { int64 a = 1; M m = 2; int64 b = 3; }'
    const plain = (await protoOfText(text)).message('test.M')!
    const other = plain.encode({ a: 5n, m: { b: 6n } })
    const asked: unknown[] = []
    const { decode } = (
      await protoOfText(text, {
        defaults: 'none',
        int64(value) {
          asked.push(plain.decode(other))
          return Number(value)
        }
      })
    ).message('test.M')!
    assert.deepEqual(decode(plain.encode({ a: 1n, m: { a: 2n, b: 3n }, b: 4n })), {
      a: 1,
      m: { a: 2, b: 3 },
      b: 4
    })
    assert.equal(asked.length, 4)
    for (const one of asked) assert.deepEqual(one, plain.decode(other))
  })
})

function withoutBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

function unlessThrown(read: () => unknown): { readonly value: unknown } | undefined {
  try {
    return { value: read() }
  } catch {
    return undefined
  }
}
