/**
 * HPACK beside that of the runtime's `node:http2`, over a socket: each reads what the other writes, and both read or refuse the
 * same blocks, whatever came before on the connection.
 */
import assert from 'node:assert/strict'
import { type OutgoingHttpHeaders, sensitiveHeaders } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { isOnPush, runs } from '@elysia-microservices/test-support'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { REQUEST } from '../../testing/frames.ts'
import { writeHuffman } from '../../testing/huffman.ts'
import { NodeReaders, NodeWriters } from '../../testing/node-hpack.ts'
import { ErrorCode } from '../error-code.ts'
import { HpackDecoder } from './decoder.ts'
import { HpackEncoder, writeNumber } from './encoder.ts'
import { FieldList } from './field.ts'

/** Bun's `node:http2` does not tell which fields are secret. */
const isBun = process.versions.bun !== undefined
const isDeno = 'Deno' in globalThis
/** The sizes that the table of a server of `node:http2` gets: on Deno it cannot change. */
const SIZES_OF_NODE = isDeno ? [] : [0, 60, 500, 4_096, 65_536]
const NO_LIMIT = 2 ** 30
/** Each needs a connection. */
const TRIES = runs(isOnPush ? 50 : 500)
const LARGEST_TABLE = 4_096
const LARGEST_VALUE = 17_000

/** Names that every message may have. */
const someName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('x-one', 'x-two', 'grpc-timeout', 'user-agent', 'authorization') },
  { weight: 1, arbitrary: fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{1,40}$/) }
)
/** Values without spaces at their ends, which no message may have. */
const someValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('', 'a', 'trailers', '200', '1S', 'a longer value, and another') },
  { weight: 4, arbitrary: fc.stringMatching(/^[!-~]([ -~]{0,300}[!-~])?$/) },
  // As long as the table, longer, and longer than a frame.
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('x', '0', '~', '<<>>'), fc.constantFrom(900, 1_100, 4_064, 4_200, LARGEST_VALUE))
      .map(([text, length]) => text.repeat(length).slice(0, length))
  }
)
/** Most bytes of a block: nghttp2 takes 65,536. */
const LARGEST_BLOCK = 50_000

/** The fields of a list that fit into a block. */
function fitting<One>(all: readonly One[], sizeOf: (one: One) => number): One[] {
  let left = LARGEST_BLOCK
  return all.filter((one) => {
    const size = sizeOf(one)
    if (size > left) return false
    left -= size
    return true
  })
}
const someFields = fc
  .array(fc.tuple(someName, someValue), { maxLength: 12 })
  .map((all) => fitting(all, ([, value]) => value.length))
const stepsOf = <One>(fields: fc.Arbitrary<One>, sizes: readonly number[]) =>
  fc.array(
    sizes.length === 0
      ? fields
      : fc.oneof({ weight: 5, arbitrary: fields }, { weight: 1, arbitrary: fc.constantFrom(...sizes) }),
    { minLength: 1, maxLength: 12 }
  )

function decoded(decoder: HpackDecoder, block: Uint8Array): string[] {
  const list = new FieldList(NO_LIMIT, NO_LIMIT)
  decoder.decode(block, 0, block.length, list)
  return list.fields.flatMap(({ name, value }) => [name, value])
}

describe('a block that our encoder writes', () => {
  let readers: NodeReaders
  before(async () => {
    readers = await NodeReaders.listen()
  })
  after(() => readers.stop())

  it('is read by node:http2, with secrets as such, however the size of the table changes', async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(someFields, SIZES_OF_NODE), async (steps) => {
        const node = await readers.connect()
        try {
          const encoder = new HpackEncoder()
          for (const step of steps) {
            if (typeof step === 'number') {
              encoder.resize(await node.resize(step))
              continue
            }
            const fields = [...REQUEST, ...step].flat()
            const out = new ByteWriter()
            encoder.encode(out, fields)
            const read = await node.read(Uint8Array.from(out.written))
            assert.deepEqual(read.fields, fields)
            // Without a value it is a field of the static table.
            const isSecret = step.some(([name, value]) => name === 'authorization' && value !== '')
            const secrets = isSecret ? ['authorization'] : []
            if (!isBun) assert.deepEqual([...new Set(read.secrets)], secrets)
          }
        } finally {
          node.close()
        }
      }),
      { numRuns: TRIES }
    )
  })
})

/** Fields by their names, some with several values, some secret. */
const someRequest = fc
  .tuple(
    fc.dictionary(
      someName.filter((name) => name !== 'user-agent' && name !== 'authorization'),
      fc.oneof(someValue, fc.array(someValue, { minLength: 1, maxLength: 3 })),
      { maxKeys: 12 }
    ),
    fc.boolean()
  )
  .map(([all, isSecret]): OutgoingHttpHeaders => {
    const fields = fitting(Object.entries(all), ([, values]) => [values].flat().join('').length)
    const secret = fields.slice(0, 2).map(([name]) => name)
    const pseudo = { ':method': 'POST', ':path': '/a.B/C' }
    return { ...pseudo, ...Object.fromEntries(fields), ...(isSecret && { [sensitiveHeaders]: secret }) }
  })

/** Names and values in the order of the alphabet: the client has an order of its own. */
function sorted(fields: readonly string[]): string[] {
  const pairs = fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : []))
  return pairs.sort()
}

describe('a block that node:http2 writes', () => {
  let writers: NodeWriters
  before(async () => {
    writers = await NodeWriters.listen()
  })
  after(() => writers.stop())

  it('is read by our decoder, in the Huffman code or not, however the size of the table changes', async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(someRequest, [0, 60, 500, LARGEST_TABLE]), async (steps) => {
        const node = await writers.connect()
        try {
          const decoder = new HpackDecoder()
          for (const step of steps) {
            if (typeof step === 'number') {
              await node.resize(step)
              continue
            }
            const fields = decoded(decoder, await node.block(step))
            const sent = Object.entries(step).flatMap(([name, values]) =>
              [values].flat().flatMap((value) => [name, String(value)])
            )
            const added = fields.filter((name, at) =>
              at % 2 === 0 ? isAdded(name) : isAdded(fields[at - 1] as string)
            )
            assert.deepEqual(sorted(fields), sorted([...sent, ...added]))
          }
        } finally {
          node.close()
        }
      }),
      { numRuns: TRIES }
    )
  })
})

/** Fields that the client adds. */
const isAdded = (name: string) => name === ':scheme' || name === ':authority'

/** Writes one field or size. */
type Write = (out: ByteWriter) => void
/** A text in its two forms. */
const textOf = (value: string, isHuffman: boolean) => (out: ByteWriter) => {
  const bytes = isHuffman ? writeHuffman(Buffer.from(value)) : Buffer.from(value)
  writeNumber(out, isHuffman ? 0x80 : 0, 7, bytes.length)
  out.bytes(bytes)
}
/** The first bits of the three literals, and the bits that are left. */
const LITERALS = [
  [0x40, 6],
  [0x00, 4],
  [0x10, 4]
] as const
/** Fields of the static table without pseudo fields, then those of the dynamic one, and some that may not be there. */
const someIndex = fc.oneof(fc.integer({ min: 15, max: 66 }), fc.integer({ min: 62, max: 75 }))
const writes = {
  indexed: someIndex.map((index) => (out: ByteWriter) => writeNumber(out, 0x80, 7, index)),
  indexedName: fc
    .tuple(fc.constantFrom(...LITERALS), someIndex, someValue, fc.boolean())
    .map(([[kind, bits], index, value, isHuffman]) => (out: ByteWriter) => {
      writeNumber(out, kind, bits, index)
      textOf(value, isHuffman)(out)
    }),
  literal: fc
    .tuple(fc.constantFrom(...LITERALS), someName, someValue, fc.boolean(), fc.boolean())
    .map(([[kind, bits], name, value, isNameHuffman, isHuffman]) => (out: ByteWriter) => {
      writeNumber(out, kind, bits, 0)
      textOf(name, isNameHuffman)(out)
      textOf(value, isHuffman)(out)
    })
}
const someSize = fc
  .constantFrom(0, 32, 100, 1_000, LARGEST_TABLE, LARGEST_TABLE + 1)
  .map((size) => (out: ByteWriter) => writeNumber(out, 0x20, 5, size))
const someBlock = fc.record({
  sizes: fc.array(someSize, { maxLength: 2 }),
  fields: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: writes.literal },
      { weight: 3, arbitrary: writes.indexed },
      { weight: 2, arbitrary: writes.indexedName }
    ),
    { maxLength: 8 }
  ),
  /** A byte that is another one, or an end that comes too early. */
  broken: fc.option(fc.record({ at: fc.nat(), byte: fc.integer({ min: -1, max: 255 }) }), { freq: 3 })
})

describe('a block of anybody', () => {
  let readers: NodeReaders
  before(async () => {
    readers = await NodeReaders.listen()
  })
  after(() => readers.stop())

  it('is read, or refused, as by node:http2', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someBlock, { minLength: 1, maxLength: 6 }), async (blocks) => {
        const node = await readers.connect()
        try {
          const decoder = new HpackDecoder()
          for (const { sizes, fields, broken } of blocks) {
            const out = new ByteWriter()
            for (const write of sizes) write(out)
            for (const field of REQUEST) for (const write of literalOf(field)) write(out)
            for (const write of fields) if (out.length < LARGEST_BLOCK - LARGEST_VALUE) write(out)
            const block = brokenBy(Uint8Array.from(out.written), broken)
            const ours = read(decoder, block)
            const theirs = await node.read(block)
            // Deno has one code for blocks and for messages that are wrong, and ends the connection for both.
            if (isDeno && theirs.goAway === ErrorCode.PROTOCOL_ERROR) return
            if (ours === ErrorCode.COMPRESSION_ERROR) {
              // Bun only resets the stream if a block ends within a field. RFC 9113, section 4.3: a connection error.
              if (!isBun || theirs.reset === undefined)
                assert.equal(theirs.goAway, ErrorCode.COMPRESSION_ERROR)
              return
            }
            assert.equal(theirs.goAway, undefined)
            // A message that is wrong has no fields, and fields that are wrong are left out; the next block shows whether both
            // have the same table.
            if (broken === null && theirs.reset === undefined) assert.deepEqual(theirs.fields, ours)
          }
        } finally {
          node.close()
        }
      }),
      { numRuns: TRIES }
    )
  })
})

/** A literal outside of all tables. */
function literalOf([name, value]: readonly [string, string]): Write[] {
  return [(out) => out.uint8(0), textOf(name, false), textOf(value, false)]
}

function brokenBy(block: Uint8Array, broken: { at: number; byte: number } | null): Uint8Array {
  if (broken === null) return block
  const at = broken.at % block.length
  if (broken.byte === -1) return block.subarray(0, at)
  return block.map((byte, index) => (index === at ? broken.byte : byte))
}

/** The fields, or the code of the error. */
function read(decoder: HpackDecoder, block: Uint8Array): string[] | number {
  try {
    return decoded(decoder, block)
  } catch (error) {
    return (error as { errorCode: number }).errorCode
  }
}
