import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { concatBytes } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { CallFailure } from './call-failure.ts'
import { type Envelope, EnvelopeReader, envelope } from './envelope.ts'

const LIMIT = 64

/** All envelopes of a request that arrives in these chunks. */
function readAll(chunks: readonly Uint8Array[], limit = LIMIT): Envelope[] {
  const reader = new EnvelopeReader(limit)
  const found: Envelope[] = []
  for (const chunk of chunks) {
    reader.push(chunk)
    for (let next = reader.next(); next !== undefined; next = reader.next()) found.push(next)
  }
  reader.end()
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

const anEnvelope = fc.record({ flags: fc.nat(255), data: fc.uint8Array({ maxLength: LIMIT }) })
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })

describe('envelopes', () => {
  it('arrive as they were written, in chunks of any size', () =>
    fc.assert(
      fc.property(fc.array(anEnvelope, { maxLength: 12 }), sizes, (given, chunkSizes) => {
        const bytes = concatBytes(given.map(({ flags, data }) => envelope(flags, data)))
        // Compared when all have been read: a later chunk may not change an earlier envelope.
        const found = readAll(cut(bytes, chunkSizes)).map(({ flags, data }) => ({ flags, data: [...data] }))
        assert.deepEqual(
          found,
          given.map(({ flags, data }) => ({ flags, data: [...data] }))
        )
      })
    ))

  it('that end too early are refused', () =>
    fc.assert(
      fc.property(anEnvelope, fc.nat(), sizes, ({ flags, data }, where, chunkSizes) => {
        const whole = envelope(flags, data)
        const cutOff = whole.subarray(0, 1 + (where % (whole.length - 1)))
        assert.throws(() => readAll(cut(cutOff, chunkSizes)), { code: 'invalid_argument' })
      })
    ))

  it('whose length is beyond the limit are refused before their data arrives', () =>
    fc.assert(
      fc.property(fc.integer({ min: LIMIT + 1, max: 2 ** 32 - 1 }), (length) => {
        const head = envelope(0, new Uint8Array())
        new DataView(head.buffer).setUint32(1, length)
        assert.throws(() => readAll([head]), {
          code: 'resource_exhausted',
          message: `The message has ${length} bytes, more than limits.messageSize allows (${LIMIT})`
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

  it('in chunks of one byte are copied a few times, and not once for each byte', () => {
    const reader = new EnvelopeReader(100_000)
    const bytes = envelope(0, new Uint8Array(100_000).fill(1))
    for (const byte of bytes) reader.push(Uint8Array.of(byte))
    assert.equal(reader.next()?.data.length, 100_000)
    assert.equal(reader.next(), undefined)
    reader.end()
  })
})
