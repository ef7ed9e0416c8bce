/**
 * Tests the receiving half of a connection: which frames are handled, stored or dropped while its handler may handle
 * frames or may not.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { frame } from '../testing/rsocket-frames.ts'
import { type FrameHandler, FrameInput } from './frame-input.ts'

/** Makes a frame of `size` bytes, its length field included. */
const sized = (size: number, fill = 0) => frame(1, 'PAYLOAD', 'N', Buffer.alloc(size - 9, fill))

/** Collects frames as hexadecimal digits; the test can block it. */
class Collector implements FrameHandler {
  readonly frames: string[] = []
  readonly failures: Error[] = []
  mayHandle = true
  /** Called while a frame is being handled. */
  during: () => void = () => {}

  handleFrame(buffer: Uint8Array, start: number, end: number): void {
    assert.equal(this.mayHandle, true)
    this.during()
    this.frames.push(Buffer.from(buffer.subarray(start, end)).toString('hex'))
  }

  failed(error: Error): void {
    this.failures.push(error)
  }
}

function inputOf(maxBufferSize = 10_000): { handler: Collector; input: FrameInput } {
  const handler = new Collector()
  return { handler, input: new FrameInput(maxBufferSize, handler) }
}

const contentOf = (bytes: Buffer) => bytes.toString('hex', 3)

describe('FrameInput', () => {
  it('handles every frame once and in order, whatever is blocked when, and counts what waits', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ size: fc.integer({ min: 1, max: 60 }) }) },
      { weight: 1, arbitrary: fc.record({ blocksAfter: fc.nat({ max: 3 }) }) },
      { weight: 1, arbitrary: fc.constant('block' as const) },
      { weight: 2, arbitrary: fc.constant('go on' as const) }
    )
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 9, max: 40 }), { maxLength: 20, size: 'max' }),
        fc.array(step, { maxLength: 60, size: 'max' }),
        (sizes, steps) => {
          const { handler, input } = inputOf()
          const frames = sizes.map((size, index) => sized(size, index))
          const bytes = Buffer.concat(frames)
          let left = Number.POSITIVE_INFINITY
          handler.during = () => {
            if (left-- === 0) handler.mayHandle = false
          }
          let received = 0
          for (const what of [...steps, 'go on' as const]) {
            if (what === 'block') handler.mayHandle = false
            else if (what === 'go on') {
              left = Number.POSITIVE_INFINITY
              handler.mayHandle = true
              input.resume()
            } else if ('blocksAfter' in what) left = what.blocksAfter
            else {
              // The chunk is copied, because the memory of a chunk is reused for the next chunk.
              const chunk = Buffer.from(bytes.subarray(received, received + what.size))
              input.receive(chunk)
              chunk.fill(0xff)
              received += chunk.length
            }
            const handled = handler.frames.reduce((sum, text) => sum + 3 + text.length / 2, 0)
            assert.equal(input.buffered, received - handled)
          }
          const ends = frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length)
          const whole = frames.filter((_, index) => (ends[index] as number) <= received)
          assert.deepEqual(handler.frames, whole.map(contentOf))
          assert.deepEqual(handler.failures, [])
        }
      ),
      { numRuns: runs(500) }
    )
  })

  it('goes on with the rest of a chunk in whose middle it was stopped', () => {
    const { handler, input } = inputOf()
    handler.during = () => {
      handler.mayHandle = false
    }
    input.receive(Buffer.concat([sized(9), sized(10)]))
    assert.equal(handler.frames.length, 1)
    assert.equal(input.buffered, 10)
    handler.mayHandle = true
    input.resume()
    assert.equal(handler.frames.length, 2)
    assert.equal(input.buffered, 0)
  })

  it('goes on with a single byte that has waited', () => {
    const { handler, input } = inputOf()
    const bytes = sized(20)
    input.receive(bytes.subarray(0, 19))
    handler.mayHandle = false
    input.receive(bytes.subarray(19))
    assert.deepEqual([handler.frames.length, input.buffered], [0, 20])
    handler.mayHandle = true
    input.resume()
    assert.deepEqual([handler.frames.length, input.buffered], [1, 0])
  })

  it('keeps as many bytes as it may, and says of one more that it is too much', () => {
    const { handler, input } = inputOf(100)
    handler.mayHandle = false
    input.receive(new Uint8Array(60))
    input.receive(new Uint8Array(40))
    assert.deepEqual([handler.failures, input.buffered], [[], 100])
    input.receive(new Uint8Array(1))
    const [error] = handler.failures
    assert.equal(error?.name, 'PayloadTooLargeError')
    assert.match(error?.message ?? '', /101 bytes.*100/)
    assert.equal(input.buffered, 100)
  })

  it('finishes one frame before it begins the next, also if it is told to go on meanwhile', () => {
    const { handler, input } = inputOf()
    const frames = [sized(10, 1), sized(10, 2), sized(10, 3)]
    let depth = 0
    handler.during = () => {
      assert.equal(depth++, 0)
      input.resume()
      depth--
    }
    input.receive(Buffer.concat(frames))
    assert.deepEqual(handler.frames, frames.map(contentOf))
  })

  it('tells its handler what the handler itself has thrown, and handles what comes then', () => {
    const { handler, input } = inputOf()
    const error = new Error('not allowed')
    handler.during = () => {
      handler.during = () => {}
      throw error
    }
    input.receive(sized(10, 1))
    assert.deepEqual(handler.failures, [error])
    input.receive(sized(10, 2))
    assert.deepEqual(handler.frames, [contentOf(sized(10, 2))])
  })

  it('drops what it has, wherever that is, and goes on with the next frame', () => {
    const { handler, input } = inputOf()
    handler.during = () => {
      handler.mayHandle = false
    }
    input.receive(Buffer.concat([sized(10, 1), sized(10, 2)]))
    input.receive(sized(10, 3))
    assert.equal(input.buffered, 20)
    input.discard()
    assert.equal(input.buffered, 0)
    handler.mayHandle = true
    input.resume()
    input.receive(sized(10, 4).subarray(0, 7))
    input.discard()
    input.receive(sized(10, 5))
    assert.deepEqual(handler.frames, [contentOf(sized(10, 1)), contentOf(sized(10, 5))])
  })
})
