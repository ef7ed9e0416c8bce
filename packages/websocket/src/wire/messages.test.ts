/** Frames are converted to messages and back, whatever their sizes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import {
  framesOf,
  LONGEST_FRAME,
  LONGEST_MESSAGE,
  RSOCKET,
  sendFrames,
  subprotocolOf,
  TURNS
} from './messages.ts'

function frame(size: number, fill = 7): Uint8Array {
  const bytes = new Uint8Array(3 + size).fill(fill)
  bytes.set([size >>> 16, (size >>> 8) & 0xff, size & 0xff])
  return bytes
}

function messagesOf(frames: readonly Uint8Array[], byTurns: boolean): Uint8Array[] {
  const bytes = Buffer.concat(frames)
  const messages: Uint8Array[] = []
  // The bytes after `length` belong to an earlier turn and must not be sent.
  sendFrames(Buffer.concat([bytes, Buffer.from([0, 0, 9])]), bytes.length, byTurns, (message) =>
    messages.push(Uint8Array.from(message))
  )
  return messages
}

const sizes = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.nat({ max: 50 }) },
    fc.constantFrom(LONGEST_FRAME, LONGEST_FRAME - 1, 100_000)
  ),
  { minLength: 1, maxLength: 20 }
)

describe('the messages of a turn', () => {
  it('hold all frames in order, whole, in as few messages as may be', () => {
    fc.assert(
      fc.property(sizes, (all) => {
        const frames = all.map((size, index) => frame(size, index))
        const messages = messagesOf(frames, true)
        assert.deepEqual(Buffer.concat(messages), Buffer.concat(frames))
        for (const message of messages) {
          assert.ok(message.length <= LONGEST_MESSAGE)
          let at = 0
          while (at < message.length) at += 3 + Buffer.from(message).readUIntBE(at, 3)
          assert.equal(at, message.length)
        }
        for (const [index, message] of messages.slice(1).entries())
          assert.ok((messages[index] as Uint8Array).length + message.length > 0)
        assert.ok(messages.length <= Math.max(1, all.filter((size) => size > 1_000).length * 2 + 1))
      }),
      { numRuns: runs(50) }
    )
  })

  it('are one where all frames fit into it', () => {
    assert.equal(messagesOf([frame(10), frame(0), frame(100)], true).length, 1)
  })

  it('hold a frame that is longer than any frame of this library alone', () => {
    const messages = messagesOf([frame(1), frame(LONGEST_FRAME + 1), frame(1)], true)
    assert.deepEqual(
      messages.map(({ length }) => length),
      [4, LONGEST_FRAME + 4, 4]
    )
  })
})

describe('the messages of RSocket', () => {
  it('are frames without their lengths, and frames again', () => {
    fc.assert(
      fc.property(sizes, (all) => {
        const frames = all.map((size, index) => frame(size, index))
        const messages = messagesOf(frames, false)
        assert.deepEqual(
          messages.map(({ length }) => length),
          all
        )
        assert.deepEqual(
          Buffer.concat(messages.map((message) => framesOf(message, false))),
          Buffer.concat(frames)
        )
      }),
      { numRuns: runs(50) }
    )
  })
})

describe('the subprotocol', () => {
  const cases: [offered: string | null | undefined, taken: string | undefined][] = [
    [undefined, undefined],
    [null, undefined],
    ['', undefined],
    ['mqtt', undefined],
    [`${RSOCKET}, ${TURNS}`, TURNS],
    [`${TURNS},${RSOCKET}`, TURNS],
    [`mqtt , ${RSOCKET}`, RSOCKET],
    ['__proto__', undefined]
  ]
  for (const [offered, taken] of cases)
    it(`of '${offered}' is ${taken}`, () => assert.equal(subprotocolOf(offered), taken))
})
