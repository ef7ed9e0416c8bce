/** DATA of one turn: as few frames as can be, and every byte where it was. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { framesIn } from '../testing/frames.ts'
import { DataFrames, FrameBytes } from './data-frames.ts'
import { Flag, FRAME_SIZE, FrameType } from './frame-type.ts'
import { writePing } from './frames.ts'

const bytesOf = (text: string) => Buffer.from(text)

describe('DATA frames', () => {
  const written = (write: (frames: DataFrames, out: FrameBytes) => void) => {
    const out = new FrameBytes()
    write(new DataFrames(out), out)
    return framesIn(out.written).map(({ streamId, flags, payload }) => `${streamId} ${flags} ${payload}`)
  }

  it('of one stream become one, also with the end', () => {
    assert.deepEqual(
      written((frames) => {
        for (const text of ['a', 'bc', '']) frames.write(1, bytesOf(text), 0, text.length, text === '')
        frames.write(3, bytesOf('xyz'), 1, 2, false)
      }),
      ['1 1 abc', '3 0 y']
    )
  })

  it('stay apart from what was sent, although as many bytes are there again', () => {
    const out = new FrameBytes()
    const frames = new DataFrames(out)
    frames.write(1, bytesOf('8 bytes.'), 0, 8, false)
    const { length } = out
    out.reset()
    writePing(out, false, Buffer.alloc(8))
    assert.equal(out.length, length)
    frames.write(1, bytesOf('b'), 0, 1, false)
    assert.deepEqual(
      framesIn(out.written).map(({ type, payload }) => `${type} ${payload}`),
      ['6 \0\0\0\0\0\0\0\0', '0 b']
    )
  })

  it('have all bytes in their order, whatever comes between', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('data' as const),
        stream: fc.integer({ min: 0, max: 2 }),
        size: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: FRAME_SIZE }))
      }),
      fc.record({ kind: fc.constantFrom('sent' as const, 'ping' as const) })
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const out = new FrameBytes()
        const frames = new DataFrames(out)
        const given: [string, string, string] = ['', '', '']
        const sent: Buffer[] = []
        for (const [at, one] of steps.entries())
          if (one.kind === 'data') {
            const content = Buffer.alloc(one.size, 97 + (at % 26))
            frames.write(2 * one.stream + 1, content, 0, one.size, false)
            given[one.stream as 0] += content
          } else if (one.kind === 'ping') writePing(out, false, Buffer.alloc(8))
          else {
            sent.push(Buffer.from(out.written))
            out.reset()
          }
        sent.push(Buffer.from(out.written))
        const read: [string, string, string] = ['', '', '']
        let pings = 0
        for (const { type, flags, streamId, payload } of framesIn(Buffer.concat(sent)))
          if (type === FrameType.PING) pings++
          else {
            assert.ok(payload.length <= FRAME_SIZE)
            assert.equal(flags & Flag.END_STREAM, 0)
            read[((streamId - 1) / 2) as 0] += payload
          }
        assert.deepEqual(read, given)
        assert.equal(pings, steps.filter(({ kind }) => kind === 'ping').length)
      }),
      { numRuns: runs(100) }
    )
  })
})
