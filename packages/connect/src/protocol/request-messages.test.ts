import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CallFailure, prefixed } from '@elysia-microservices/protobuf/rpc'
import { concatBytes } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { RequestMessages } from './request-messages.ts'

const LIMIT = 64

/** All messages of a request that arrives in these chunks. */
function readAll(chunks: readonly Uint8Array[]) {
  const messages = new RequestMessages(LIMIT)
  const found = []
  for (const chunk of chunks) {
    messages.push(chunk)
    for (let next = messages.next(); next !== undefined; next = messages.next()) found.push(next)
  }
  messages.end()
  return found
}

/** Cuts bytes into chunks of these sizes, again and again. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] as number
    chunks.push(bytes.slice(at, at + size))
    at += size
  }
  return chunks
}

const message = fc.record({ isCompressed: fc.boolean(), data: fc.uint8Array({ maxLength: LIMIT }) })
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
const written = ({ isCompressed, data }: { readonly isCompressed: boolean; readonly data: Uint8Array }) =>
  prefixed(data, isCompressed ? 1 : 0)

describe('the messages of a request', () => {
  it('arrive as they were written, in chunks of any size', () =>
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), sizes, (given, chunkSizes) => {
        // Compared when all have been read: a later chunk may not change an earlier message.
        const found = readAll(cut(concatBytes(given.map(written)), chunkSizes))
        assert.deepEqual(
          found.map(({ isCompressed, data }) => ({ isCompressed, data: [...data] })),
          given.map(({ isCompressed, data }) => ({ isCompressed, data: [...data] }))
        )
      })
    ))

  it('that end too early are refused', () =>
    fc.assert(
      fc.property(message, fc.nat(), sizes, (given, where, chunkSizes) => {
        const whole = written(given)
        const cutOff = whole.subarray(0, 1 + (where % (whole.length - 1)))
        assert.throws(() => readAll(cut(cutOff, chunkSizes)), { code: 'invalid_argument' })
      })
    ))

  it('whose length is beyond the limit are refused before their data arrives, behind those that are not', () =>
    fc.assert(
      fc.property(fc.integer({ min: LIMIT + 1, max: 2 ** 32 - 1 }), (length) => {
        const head = prefixed(new Uint8Array())
        new DataView(head.buffer).setUint32(1, length)
        const messages = new RequestMessages(LIMIT)
        messages.push(concatBytes([prefixed(Uint8Array.of(7)), head]))
        assert.deepEqual(messages.next()?.data, Uint8Array.of(7))
        assert.throws(() => messages.next(), {
          code: 'resource_exhausted',
          message: `The message has more bytes than limits.messageSize allows (${LIMIT})`
        })
      })
    ))

  it('are read from any bytes or refused with a failure', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), sizes, (bytes, chunkSizes) => {
        try {
          const found = readAll(cut(bytes, chunkSizes))
          assert.equal(
            found.reduce((sum, { data }) => sum + 5 + data.length, 0),
            bytes.length
          )
        } catch (error) {
          assert.ok(error instanceof CallFailure, String(error))
        }
      })
    ))
})
