/** Tests the stored frames of one end, and compares them with the simplest possible implementation. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { TYPES, uint24 } from '../testing/rsocket-frames.ts'
import { hasPosition, ResumeState } from './resume.ts'

/** Makes a frame with its length field. All its bytes are the number of the frame. */
const frameOf = (number: number, size: number) =>
  Buffer.concat([uint24(size), Buffer.alloc(size, number & 0xff)])

describe('what is kept of what was sent', () => {
  it('is what was sent last, less what was acknowledged, whatever comes in whatever order [property]', () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 400, size: 'max' })
      },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) }
    )
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 9_000 }),
        (steps, bufferSize) => {
          const state = new ResumeState(Buffer.from('token'), bufferSize)
          const sent: { bytes: Buffer; end: number }[] = []
          let position = 0
          // Number of sent frames that are no longer stored.
          let gone = 0
          let first = 0
          const drop = (isDropped: (end: number) => boolean) => {
            for (let next = sent[gone]; next !== undefined && isDropped(next.end); next = sent[gone]) {
              gone++
              first = next.end
            }
          }
          for (const one of steps) {
            if (typeof one === 'number') {
              const acknowledged = first + Math.floor((position - first) * one)
              state.acknowledged(acknowledged)
              drop((end) => end <= acknowledged)
            } else {
              const frames = one.map((size) => {
                position += size
                const bytes = frameOf(sent.length, size)
                sent.push({ bytes, end: position })
                return bytes
              })
              state.sent(Buffer.concat(frames))
              drop(() => position - first > bufferSize)
            }
            const expected = [first, position, position - first]
            assert.deepEqual([state.firstAvailable, state.sentPosition, state.kept], expected)
            assert.equal(state.canResumeFrom(first), true)
            assert.equal(state.canResumeFrom(first - 1), false)
            assert.equal(state.canResumeFrom(position + 1), false)
          }
          const kept = sent.filter(({ end }) => end > first).map(({ bytes }) => bytes)
          assert.equal(Buffer.concat(state.framesFrom(first)).equals(Buffer.concat(kept)), true)
        }
      ),
      { numRuns: runs(200) }
    )
  })

  it('is in order also after thousands of frames, of which most were acknowledged', () => {
    const state = new ResumeState(Buffer.from('token'), 1e6)
    const numbers = (frames: Uint8Array[]) => frames.map((frame) => frame[3])
    for (let n = 0; n < 5_000; n++) {
      state.sent(frameOf(n, 1))
      // Three frames are not acknowledged yet.
      state.acknowledged(n - 2)
      if (n % 500 === 499) {
        assert.equal(state.kept, 3)
        assert.deepEqual(
          numbers(state.framesFrom(n - 2)),
          [n - 2, n - 1, n].map((number) => number & 0xff)
        )
      }
    }
    state.acknowledged(5_000)
    assert.deepEqual([state.kept, state.framesFrom(5_000)], [0, []])
    state.sent(frameOf(7, 2))
    assert.deepEqual(state.framesFrom(5_000), [frameOf(7, 2)])
  })

  it('tells how much more it is, also when that is less', () => {
    const state = new ResumeState(Buffer.from('token'), 10)
    const grown: number[] = []
    state.grown = (bytes) => grown.push(bytes)
    state.sent(frameOf(1, 8))
    state.sent(frameOf(2, 4))
    assert.deepEqual(grown, [8, -4])
  })
})

describe('positions', () => {
  it('count frames of streams, and none of those that only the connection has [MUST]', () => {
    assert.deepEqual(
      TYPES.filter((_, type) => hasPosition(type)),
      [
        'REQUEST_RESPONSE',
        'REQUEST_FNF',
        'REQUEST_STREAM',
        'REQUEST_CHANNEL',
        'REQUEST_N',
        'CANCEL',
        'PAYLOAD',
        'ERROR'
      ]
    )
  })

  it('begin with 0', () => {
    const state = new ResumeState(Buffer.from('token'), 10)
    assert.deepEqual([state.received, state.firstAvailable, state.sentPosition, state.kept], [0, 0, 0, 0])
    assert.equal(state.canResumeFrom(0), true)
    assert.deepEqual(state.framesFrom(0), [])
  })

  it('up to the last one sent may be resumed from: then nothing is sent again', () => {
    const state = new ResumeState(Buffer.from('token'), 10)
    state.sent(Buffer.concat([frameOf(1, 4), frameOf(2, 6)]))
    assert.deepEqual([state.canResumeFrom(10), state.canResumeFrom(11)], [true, false])
    assert.deepEqual(state.framesFrom(10), [])
    assert.deepEqual([state.firstAvailable, state.kept], [10, 0])
  })
})
