import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FrameReader } from './frame-input.ts'

function withLength(content: Uint8Array): Buffer {
  const length = Buffer.alloc(3)
  length.writeUIntBE(content.length, 0, 3)
  return Buffer.concat([length, content])
}

function hexOf({ buffer, start, end }: FrameReader): string {
  return Buffer.from(buffer.subarray(start, end)).toString('hex')
}

function read(chunks: readonly Uint8Array[]): string[] {
  const reader = new FrameReader(0xffffff)
  const frames: string[] = []
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk))
    const found: Uint8Array[] = []
    while (reader.next()) found.push(reader.buffer.subarray(reader.start, reader.end))
    assert.equal(reader.next(), false)
    // A frame stays unchanged until the next chunk is pushed.
    frames.push(...found.map((frame) => Buffer.from(frame).toString('hex')))
    reader.keepRest()
    assert.equal(reader.exhausted, true)
  }
  return frames
}

describe('FrameReader', () => {
  it('gives back any frames, however their bytes are divided', () => {
    const content = fc.uint8Array({ minLength: 6, maxLength: 40, size: 'max' })
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

  it('takes the shortest frame there is, and one that is as long as allowed', () => {
    for (const size of [6, 100])
      for (const first of [1, 2, 3, 4, size + 2, size + 3]) {
        const reader = new FrameReader(100)
        const bytes = withLength(Buffer.alloc(size, 7))
        reader.push(bytes.subarray(0, first))
        const isWhole = reader.next()
        assert.equal(isWhole, first === bytes.length)
        if (!isWhole) {
          assert.equal(reader.buffered, first)
          reader.push(bytes.subarray(first))
          assert.equal(reader.next(), true)
        }
        assert.equal(hexOf(reader), '07'.repeat(size))
        assert.equal(reader.buffered, 0)
      }
  })

  it('refuses a length that comes in parts, too', () => {
    for (const [length, name] of [
      [5, 'ProtocolError'],
      [101, 'PayloadTooLargeError']
    ] as const) {
      const reader = new FrameReader(100)
      reader.push(Buffer.of(0, 0))
      assert.equal(reader.next(), false)
      reader.push(Buffer.of(length))
      assert.throws(() => reader.next(), { name })
    }
  })

  it('keeps frames that are not read yet, but not the chunk that they came in', () => {
    const chunk = Buffer.concat([Buffer.alloc(10, 1), Buffer.alloc(10, 2)].map(withLength))
    const reader = new FrameReader(100)
    reader.push(chunk)
    assert.equal(reader.next(), true)
    reader.keepRest()
    chunk.fill(0)
    assert.deepEqual([reader.buffered, reader.exhausted, reader.buffer.length], [13, false, 0])
    assert.equal(reader.next(), true)
    assert.equal(hexOf(reader), '02'.repeat(10))
    assert.deepEqual([reader.buffered, reader.exhausted], [0, true])
  })

  it('drops a part of a frame, and whole ones that are not read yet', () => {
    const bytes = withLength(Buffer.alloc(10, 1))
    for (const first of [
      bytes.subarray(0, 2),
      bytes.subarray(0, 5),
      Buffer.concat([bytes, bytes, bytes.subarray(0, 5)])
    ]) {
      const reader = new FrameReader(100)
      reader.push(first)
      reader.next()
      reader.reset()
      assert.deepEqual([reader.buffered, reader.exhausted, reader.buffer.length], [0, true, 0])
      assert.equal(reader.next(), false)
      reader.push(bytes)
      assert.equal(reader.next(), true)
      assert.equal(hexOf(reader), '01'.repeat(10))
      assert.equal(reader.next(), false)
    }
  })
})
