import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { concatBytes } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { TextReader, toText } from './base64-text.ts'

function readAll(pieces: readonly Uint8Array[]): Uint8Array {
  const reader = new TextReader()
  const bytes = concatBytes(pieces.map((piece) => reader.read(piece)))
  reader.end()
  return bytes
}

const bytes = fc.uint8Array({ maxLength: 50 })

describe('the text of gRPC-Web', () => {
  it('is read as it was written, in pieces of any size', () =>
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 6 }), fc.integer({ min: 1, max: 9 }), (written, size) => {
        const text = concatBytes(written.map(toText))
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
          text.slice(index * size, (index + 1) * size)
        )
        assert.deepEqual(readAll(pieces), concatBytes(written))
      })
    ))

  it('is that of other libraries', () =>
    fc.assert(
      fc.property(bytes, (given) => {
        assert.equal(new TextDecoder().decode(toText(given)), Buffer.from(given).toString('base64'))
      })
    ))

  for (const text of ['A', 'AA=', 'A===', '====', '=AAA', 'AA=A', 'AAA*', 'AA-_', 'AAAA\n'])
    it(`is not ${JSON.stringify(text)}`, () =>
      void assert.throws(() => readAll([new TextEncoder().encode(text)]), { code: 'invalid_argument' }))

  it('is read from any bytes or refused with a failure', () =>
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 4 }), (pieces) => {
        try {
          readAll(pieces)
        } catch (error) {
          assert.equal((error as { code?: unknown }).code, 'invalid_argument')
        }
      })
    ))
})
