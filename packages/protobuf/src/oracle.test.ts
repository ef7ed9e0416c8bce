/** Random messages of random files: protobufjs, another implementation, reads what is written and writes what is read. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { ProtocolError } from '@elysia-microservices/transport'
import fc from 'fast-check'
import protobufjs from 'protobufjs'
import { protoOf } from './load-proto.ts'
import { nestShapes } from './options/nest-shapes.ts'
import type { JsonValue, MessageCodec } from './proto.ts'
import { protoOfText } from './testing/of-text.ts'
import { randomProto } from './testing/random-proto.ts'

function theirs(text: string, keepCase: boolean): protobufjs.Type {
  return protobufjs.parse(text, new protobufjs.Root(), { keepCase }).root.lookupType('random.M0')
}

function codecIn(proto: { message(name: string): MessageCodec | undefined }): MessageCodec {
  return proto.message('random.M0') as MessageCodec
}

/** A file and some values of its first message. */
const cases = randomProto.chain(({ text, values }) =>
  fc.tuple(fc.constant(text), fc.array(values, { minLength: 1, maxLength: 4 }))
)

/** JSON.stringify() writes -0 as 0. */
function withoutSign(value: unknown): unknown {
  if (value === 0) return 0
  if (Array.isArray(value)) return value.map(withoutSign)
  if (Object.getPrototypeOf(Object(value)) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(Object(value)).map(([key, one]) => [key, withoutSign(one)]))
}

describe('messages of random files', () => {
  it('come back as they were, as bytes and as JSON', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([text, values]) => {
        const codec = codecIn(await protoOfText(text))
        for (const value of values) {
          assert.deepEqual(codec.decode(codec.encode(value)), value)
          assert.deepEqual(
            withoutSign(codec.fromJson(JSON.parse(JSON.stringify(codec.toJson(value))))),
            withoutSign(value)
          )
        }
      }),
      { numRuns: runs(150) }
    )
  })

  it('are the same from descriptors as from text', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([text, values]) => {
        const proto = await protoOfText(text)
        const again = protoOf(proto.descriptors())
        assert.deepEqual(
          again.services.map(({ name, methods }) => [name, methods.map(({ path }) => path)]),
          proto.services.map(({ name, methods }) => [name, methods.map(({ path }) => path)])
        )
        for (const value of values)
          assert.deepEqual(codecIn(again).encode(value), codecIn(proto).encode(value))
      }),
      { numRuns: runs(50) }
    )
  })

  it('are read by protobufjs as they were written, and the other way round', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([text, values]) => {
        const codec = codecIn(
          await protoOfText(text, { names: 'proto', bytes: (bytes) => Buffer.from(bytes) })
        )
        const other = theirs(text, true)
        for (const camel of values) {
          const value = codec.decode(codec.encode(camel)) as Record<string, unknown>
          const read = other.decode(codec.encode(value))
          const bytes = other.encode(read).finish()
          assert.deepEqual(codec.decode(bytes), value)
        }
      }),
      { numRuns: runs(150) }
    )
  })

  for (const loader of [
    {},
    { longs: String, enums: String, defaults: true, oneofs: true, keepCase: true },
    { longs: Number, arrays: true, objects: true, bytes: String },
    { longs: String, bytes: Array, oneofs: true }
  ])
    it(`have the shapes of Nest's loader with ${JSON.stringify(loader, (_, one) => (typeof one === 'function' ? one.name : one))}`, async () => {
      await fc.assert(
        fc.asyncProperty(cases, async ([text, values]) => {
          const ours = codecIn(await protoOfText(text))
          const codec = codecIn(await protoOfText(text, nestShapes(loader)))
          const other = theirs(text, loader.keepCase === true)
          for (const value of values) {
            const bytes = ours.encode(value)
            const shaped = codec.decode(bytes)
            const expected = other.toObject(other.decode(bytes), loader as protobufjs.IConversionOptions)
            assert.deepEqual(plain(shaped), plain(expected))
            // A number does not hold all 64-bit integers.
            if (loader.longs !== Number) assert.deepEqual(ours.decode(codec.encode(shaped)), value)
          }
        }),
        { numRuns: runs(80) }
      )
    })
})

describe('foreign bytes and JSON', () => {
  /** Bytes that begin like a message, and then may be anything. */
  const bytes = randomProto.chain(({ text, values }) =>
    fc.tuple(fc.constant(text), values, fc.uint8Array({ maxLength: 40 }), fc.nat(100), fc.jsonValue())
  )

  it('become a value or a ProtocolError', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, async ([text, value, noise, at, json]) => {
        const codec = codecIn(await protoOfText(text))
        const good = codec.encode(value)
        const cut = good.subarray(0, at % (good.length + 1))
        for (const bad of [noise, cut, Buffer.concat([cut, noise]), Buffer.concat([cut, noise, good])])
          endsWell(() => codec.decode(bad))
        endsWell(() => codec.fromJson(json as JsonValue))
        endsWell(() => codec.fromJson({ a_0: json, someField1: json } as JsonValue))
      }),
      { numRuns: runs(200) }
    )
  })
})

/** Runs to its end, or fails as it may. */
function endsWell(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error))
  }
}

/** Longs of both libraries alike: their classes differ. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if ('low' in value && 'high' in value && 'unsigned' in value) return { long: String(value) }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}
