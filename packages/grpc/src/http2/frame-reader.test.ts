import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { frame, framesIn, PREFACE_BYTES } from '../testing/frames.ts'
import { type FrameHandler, FrameInput } from './frame-input.ts'
import { FrameReader } from './frame-reader.ts'

/** The frames that a reader finds in chunks, whose memory is overwritten when they have been read. */
function framesOf(chunks: readonly Uint8Array[]): string[] {
  const reader = new FrameReader()
  const found: string[] = []
  for (const chunk of chunks) {
    const copy = Uint8Array.from(chunk)
    reader.push(copy)
    while (reader.next()) {
      const { type, flags, streamId, buffer, start, end } = reader
      found.push(`${type} ${flags} ${streamId} ${Buffer.from(buffer.subarray(start, end)).toString('hex')}`)
    }
    reader.keepRest()
    copy.fill(0xee)
  }
  return found
}

const someFrame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  flags: fc.integer({ min: 0, max: 255 }),
  streamId: fc.oneof(fc.nat(10), fc.nat(2 ** 31 - 1)),
  payload: fc.uint8Array({ maxLength: 40 })
})

/** Cuts bytes into chunks of these sizes, and the rest. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let at = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size))
    at = Math.min(bytes.length, at + size)
  }
  return [...chunks, bytes.subarray(at)].filter(({ length }) => length > 0)
}

describe('a reader of frames', () => {
  it('finds each frame once and in order, wherever the chunks end', () => {
    fc.assert(
      fc.property(
        fc.array(someFrame, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 40 }),
        (frames, sizes) => {
          const bytes = Buffer.concat(
            frames.map((one) => frame(one.type, one.flags, one.streamId, one.payload))
          )
          assert.deepEqual(
            framesOf(cut(bytes, sizes)),
            framesIn(bytes).map(
              (one) => `${one.type} ${one.flags} ${one.streamId} ${one.payload.toString('hex')}`
            )
          )
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('finds a frame of the largest size, byte for byte', () => {
    const bytes = frame(0, 1, 5, Buffer.alloc(16_384, 7))
    assert.equal(framesOf([...bytes].map((byte) => Uint8Array.of(byte))).length, 1)
    assert.equal(framesOf([bytes]).length, 1)
  })

  it('refuses a longer frame as soon as its length is there', () => {
    const head = frame(0, 0, 1, [], 16_385)
    const isFrameSize = (error: { errorCode?: number }) => error.errorCode === 6
    assert.throws(() => framesOf([head]), isFrameSize)
    assert.throws(() => framesOf([...head.subarray(0, 3)].map((byte) => Uint8Array.of(byte))), isFrameSize)
  })

  it('ignores the reserved bit of a stream', () => {
    const bytes = frame(6, 0, 0, Buffer.alloc(8))
    bytes[5] = 0x80
    assert.deepEqual(framesOf([bytes]), ['6 0 0 0000000000000000'])
  })
})

/** Collects frames, and can be blocked. */
class Collector implements FrameHandler {
  readonly frames: string[] = []
  readonly failures: Error[] = []
  mayHandle = true
  /** Frames until the handler blocks itself. */
  left = Number.POSITIVE_INFINITY

  handleFrame({ type, buffer, start, end }: FrameReader): void {
    assert.equal(this.mayHandle, true)
    this.frames.push(`${type} ${Buffer.from(buffer.subarray(start, end)).toString('hex')}`)
    if (--this.left === 0) this.mayHandle = false
  }

  failed(error: Error): void {
    this.failures.push(error)
    this.mayHandle = false
  }
}

describe('the receiving half of a connection', () => {
  const payloads = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 20 })
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ size: fc.integer({ min: 1, max: 50 }) }) },
    { weight: 1, arbitrary: fc.record({ blocksAfter: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 2, arbitrary: fc.constant('go on' as const) }
  )

  it('handles every frame once and in order behind the preface, whatever is blocked when', () => {
    fc.assert(
      fc.property(
        payloads,
        fc.array(step, { maxLength: 60, size: 'max' }),
        fc.boolean(),
        (contents, steps, isServer) => {
          const handler = new Collector()
          const input = new FrameInput(handler, 10_000, isServer)
          const frames = contents.map((content, at) => frame(at, 0, 1, content))
          const bytes = Buffer.concat([...(isServer ? [PREFACE_BYTES] : []), ...frames])
          let at = 0
          const take = (size: number) => {
            const chunk = Uint8Array.from(bytes.subarray(at, at + size))
            at = Math.min(bytes.length, at + size)
            if (chunk.length === 0) return
            input.receive(chunk)
            chunk.fill(0xee)
          }
          for (const one of steps) {
            if (one === 'go on') {
              handler.left = Number.POSITIVE_INFINITY
              handler.mayHandle = true
              input.resume()
            } else if ('blocksAfter' in one) handler.left = one.blocksAfter
            else take(one.size)
          }
          take(bytes.length)
          handler.left = Number.POSITIVE_INFINITY
          handler.mayHandle = true
          input.resume()
          assert.deepEqual(
            handler.frames,
            contents.map((content, type) => `${type} ${Buffer.from(content).toString('hex')}`)
          )
          assert.deepEqual([handler.failures, input.buffered], [[], 0])
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('fails when more bytes wait than the limit allows', () => {
    const handler = new Collector()
    const input = new FrameInput(handler, 100, false)
    handler.mayHandle = false
    input.receive(new Uint8Array(100))
    assert.deepEqual(handler.failures, [])
    input.receive(new Uint8Array(1))
    assert.match(String(handler.failures[0]), /limits\.receiveBuffer/)
  })

  it('fails at the first byte that is not of the preface', () => {
    for (const bytes of ['GET / HTTP/1.1\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r']) {
      const handler = new Collector()
      const input = new FrameInput(handler, 100, true)
      input.receive(Buffer.from(bytes))
      assert.match(String(handler.failures[0]), /does not speak HTTP\/2/)
    }
  })
})
