import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FrameReader } from './frame-reader.ts'

function withLength(content: Uint8Array): Buffer {
  const length = Buffer.alloc(3)
  length.writeUIntBE(content.length, 0, 3)
  return Buffer.concat([length, content])
}

function read(chunks: readonly Uint8Array[]): string[] {
  const reader = new FrameReader(0xffffff)
  const frames: string[] = []
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk))
    while (reader.next()) frames.push(reader.buffer.toString('hex', reader.start, reader.end))
    reader.keepRest()
    assert.equal(reader.exhausted, true)
  }
  return frames
}

describe('FrameReader', () => {
  it('gives back any frames, however their bytes are divided', () => {
    const content = fc.uint8Array({ minLength: 6, maxLength: 40 })
    fc.assert(
      fc.property(
        fc.array(content, { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (contents, places) => {
          const bytes = Buffer.concat(contents.map(withLength))
          const ends = [...new Set(places.map((place) => place % (bytes.length + 1))), bytes.length].sort(
            (a, b) => a - b
          )
          const chunks = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
          assert.deepEqual(
            read(chunks),
            contents.map((frame) => Buffer.from(frame).toString('hex'))
          )
        }
      )
    )
  })

  it('gives back a large frame that comes byte by byte', () => {
    const content = Buffer.alloc(10_000, 7)
    const bytes = [...withLength(content)].map((byte) => Buffer.of(byte))
    assert.deepEqual(read(bytes), [content.toString('hex')])
  })

  it('refuses frames that are too short, and those that are too long', () => {
    const reader = new FrameReader(100)
    reader.push(Buffer.from([0, 0, 5]))
    assert.throws(() => reader.next(), { name: 'ProtocolError' })
    const strict = new FrameReader(100)
    strict.push(Buffer.from([0, 0, 101]))
    assert.throws(() => strict.next(), { name: 'PayloadTooLargeError', option: 'limits.receiveBuffer' })
  })
})
