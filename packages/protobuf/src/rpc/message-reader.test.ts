import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { MessageReader, prefixed } from './message-reader.ts'

/** Reads data in pieces of these sizes. Returns the messages, and the bytes that were given back. */
function read(bytes: Uint8Array, sizes: readonly number[], maxLength = 1_000_000) {
  const messages: string[] = []
  let ofMessages = 0
  let givenBack = 0
  const reader = new MessageReader(maxLength, (isCompressed, buffer, start, end, size) => {
    messages.push(`${isCompressed} ${Buffer.from(buffer.subarray(start, end)).toString('hex')}`)
    ofMessages += size
  })
  let at = 0
  for (const size of [...sizes, bytes.length]) {
    const chunk = Uint8Array.from(bytes.subarray(at, at + size))
    at += chunk.length
    const result = reader.push(chunk, 0, chunk.length)
    if (typeof result !== 'number') return { messages, wrong: result }
    givenBack += result
    chunk.fill(0xee)
  }
  assert.equal(ofMessages + givenBack, bytes.length)
  return { messages, buffered: reader.buffered }
}

describe('a reader of messages', () => {
  it('finds each message once and in order, wherever the data is cut', () => {
    const message = fc.record({ content: fc.uint8Array({ maxLength: 3_000 }), isCompressed: fc.boolean() })
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 2_000 }), { maxLength: 30 }),
        (messages, sizes) => {
          const bytes = Buffer.concat(
            messages.map(({ content, isCompressed }) => prefixed(content, isCompressed ? 1 : 0))
          )
          assert.deepEqual(read(bytes, sizes), {
            messages: messages.map(
              ({ content, isCompressed }) => `${isCompressed} ${Buffer.from(content).toString('hex')}`
            ),
            buffered: 0
          })
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('finds messages byte by byte', () => {
    const bytes = Buffer.concat([prefixed(Buffer.from('ab')), prefixed(new Uint8Array())])
    assert.deepEqual(read(bytes, new Array(bytes.length).fill(1)).messages, ['false 6162', 'false '])
  })

  it('knows that a message is not complete', () => {
    assert.equal(read(prefixed(Buffer.from('abc')).subarray(0, 7), []).buffered, 7)
    assert.equal(read(Uint8Array.of(0), []).buffered, 1)
  })

  it('refuses a message above the limit as soon as its length is there, however it is cut', () => {
    for (const sizes of [[], [1, 1, 1, 1, 1]]) {
      const long = prefixed(new Uint8Array(101)).subarray(0, 5)
      assert.equal(read(long, sizes, 100).wrong, 'too long')
      assert.equal(read(prefixed(new Uint8Array(100)), sizes, 100).wrong, undefined)
    }
    assert.equal(read(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff), []).wrong, 'too long')
  })

  it('refuses other flags', () => {
    assert.equal(read(Uint8Array.of(2, 0, 0, 0, 0), []).wrong, 'a flag that gRPC and Connect do not have')
  })
})
