/**
 * Frames of any kind in any order, right and wrong ones: the answers do not depend on where chunks end, at most one GOAWAY
 * is the last of them, and nothing is left behind when the connection closes.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { ServerEnd } from '../testing/ends.ts'
import {
  block,
  data,
  frame,
  headers,
  PREFACE_BYTES,
  ping,
  REQUEST,
  reset,
  settings,
  windowUpdate
} from '../testing/frames.ts'

const streamId = fc.constantFrom(0, 1, 1, 1, 3, 3, 5, 2, 7, 99)
const anyFrame = fc
  .tuple(
    fc.integer({ min: 0, max: 11 }),
    fc.integer({ min: 0, max: 255 }),
    streamId,
    fc.uint8Array({ maxLength: 24 })
  )
  .map(([type, flags, id, payload]) => frame(type, flags, id, payload))
const likely = fc.oneof(
  streamId.map((id) => headers(id, REQUEST, 0)),
  streamId.map((id) => headers(id)),
  streamId.map((id) => headers(id, [['x', 'y']])),
  fc
    .tuple(streamId, fc.string({ maxLength: 40 }), fc.boolean())
    .map(([id, text, isLast]) => data(id, text, isLast)),
  streamId.map((id) => reset(id, 8)),
  fc.tuple(streamId, fc.constantFrom(0, 1, 100, 2 ** 31 - 1)).map(([id, size]) => windowUpdate(id, size)),
  fc
    .tuple(fc.constantFrom(1, 2, 3, 4, 5, 6, 9), fc.constantFrom(0, 1, 65_535, 100_000))
    .map((pair) => settings(pair)),
  fc.constantFrom(ping(1), ping(2, 1)),
  streamId.map((id) => frame(1, 0, id, block(...REQUEST))),
  streamId.map((id) => frame(9, 4, id, block(['a', 'b'])))
)
const frames = fc.array(fc.oneof({ weight: 9, arbitrary: likely }, { weight: 1, arbitrary: anyFrame }), {
  maxLength: 25
})

/** A server that answers whole requests with their length, and everything it was asked. */
function answers(chunks: readonly Uint8Array[]): { readonly sent: string[]; readonly events: string[] } {
  const end = new ServerEnd({ streams: 3, resets: 4, idleFrames: 10 }, false)
  end.onRequest = (stream, isLast, recorder) => {
    const answer = () => {
      stream.fields([':status', '200'], false)
      stream.data(Buffer.alloc(70_000, 'x'), false)
      stream.fields(['x-bytes', String(recorder.received)], true)
    }
    const { data: record, trailers } = recorder
    recorder.data = (buffer, start, stop, last) => {
      record.call(recorder, buffer, start, stop, last)
      if (last) answer()
    }
    recorder.trailers = (fields) => {
      trailers.call(recorder, fields)
      answer()
    }
    if (isLast) answer()
  }
  for (const chunk of chunks) end.receives(chunk)
  const sent = end.sent()
  const goodbyes = sent.filter((one) => one.startsWith('GOAWAY'))
  assert.ok(goodbyes.length <= 1, sent.join('\n'))
  if (goodbyes.length === 1) {
    assert.ok(sent.at(-1)?.startsWith('GOAWAY'), sent.join('\n'))
    assert.notEqual(end.output.ended, undefined)
    // An error that is not the peer's is a bug of this side.
    assert.equal(
      (end.output.ended as Error).name,
      'ConnectionFault',
      String((end.output.ended as Error).stack)
    )
  }
  end.connection.close()
  assert.deepEqual([end.connection.inFlight, end.connection.pending], [0, 0])
  for (const { recorder } of end.requests)
    assert.ok(
      recorder.events.filter((one) => one.startsWith('reset')).length <= 1,
      recorder.events.join('\n')
    )
  return { sent, events: end.requests.flatMap(({ recorder, words }) => [words, ...recorder.events]) }
}

describe('a server that gets any frames', () => {
  it('answers the same, wherever chunks end, and nothing is left behind', () => {
    fc.assert(
      fc.property(
        frames,
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
        (all, sizes) => {
          const bytes = Buffer.concat([PREFACE_BYTES, settings(), ...all])
          const cut: Uint8Array[] = []
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] as number
            cut.push(bytes.subarray(at, at + size))
            at += size
          }
          assert.deepEqual(answers(cut), answers([bytes]))
        }
      ),
      { numRuns: runs(500) }
    )
  })
})
