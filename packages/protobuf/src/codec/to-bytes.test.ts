/** Bytes that are written at once, compared with those of protobuf-es’s messages, which its own conformance tests judge. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { shapesOf } from '../options/shapes.ts'
import { protoOfText } from '../testing/of-text.ts'
import { randomProto } from '../testing/random-proto.ts'
import { NO_HINTS } from './hints.ts'
import { ByteMessages, writeMessage } from './to-bytes.ts'
import { MessageWriter } from './to-message.ts'

describe('the bytes of a value', () => {
  it('are those of the message that the value stands for, whatever the file', async () => {
    const cases = randomProto.chain(({ text, values }) =>
      fc.tuple(fc.constant(text), fc.array(values, { minLength: 1, maxLength: 4 }))
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([text, values]) => {
        const proto = await protoOfText(text)
        const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, proto.descriptors()))
        const desc = registry.getMessage('random.M0')!
        const messages = new MessageWriter(shapesOf({}), registry, NO_HINTS)
        const write = new ByteMessages(shapesOf({}), messages).of(desc)
        for (const value of values)
          assert.deepEqual(
            writeMessage(write, value).copy(),
            toBinary(desc, messages.of(desc)(value) as never)
          )
      }),
      { numRuns: runs(50) }
    )
  })

  it('do not mix with those of a message that is written meanwhile, or of one that does not fit', async () => {
    const proto = await protoOfText(`
      syntax = "proto3";
      package test;
      message Pair { string a = 1; Pair b = 2; int64 c = 3; }
    `)
    const { encode } = proto.message('test.Pair')!
    const value = { a: 'x'.repeat(100), b: { a: 'y', c: 5n }, c: 2 ** 40 }
    const bytes = encode(value)
    const both = {
      get a() {
        assert.deepEqual(encode(value), bytes)
        return value.a
      },
      get b() {
        assert.throws(() => encode({ b: { a: 7 } }), { path: 'data.b.a' })
        return value.b
      },
      c: value.c
    }
    for (let time = 0; time < 3; time++) assert.deepEqual(encode(both), bytes)
    // Each has bytes of its own.
    assert.deepEqual(bytes, encode(value))
  })

  it('of integers are the shortest, in every form of the number', async () => {
    const proto = await protoOfText(`
      syntax = "proto3";
      package test;
      message Long { int64 a = 1; uint64 b = 2; optional int64 c = 3; }
    `)
    const { encode, decode } = proto.message('test.Long')!
    for (const number of [0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, -1, -(2 ** 40)]) {
      const b = Math.abs(number)
      const forms = [
        { a: number, b, c: number },
        { a: BigInt(number), b: BigInt(b), c: BigInt(number) },
        { a: String(number), b: String(b), c: String(number) }
      ].map(encode)
      assert.deepEqual(forms[1], forms[0])
      assert.deepEqual(forms[2], forms[0])
      assert.deepEqual(decode(forms[0]!), { a: BigInt(number), b: BigInt(b), c: BigInt(number) })
    }
  })
})
