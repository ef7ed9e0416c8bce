import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  bytesOf,
  joined,
  jsonOf,
  numberAt,
  partsOf,
  prefixed,
  readReply,
  replyToken,
  STREAM_WINDOW,
  textOf
} from './wire.ts'

describe('reply subjects', () => {
  it('say what a caller of ours wants', () => {
    const number = fc.integer({ min: 1, max: 2 ** 31 - 1 })
    const kind = fc.constantFrom('request', 'stream', 'event')
    fc.assert(
      fc.property(
        kind,
        number,
        fc.option(number, { nil: undefined }),
        number,
        fc.integer({ min: 1, max: STREAM_WINDOW }),
        (what, call, timeout, demand, window) => {
          const reply = `_INBOX.abc.${replyToken(what, call, timeout, demand, window)}`
          const streamed = what === 'stream' ? { demand, window } : { demand: 1, window: STREAM_WINDOW }
          assert.deepEqual(readReply(reply), { kind: what, timeout, ...streamed })
          assert.equal(numberAt(reply, '_INBOX.abc.r-'.length), call)
        }
      )
    )
  })

  it('of streams have a window that is neither nothing nor more than there is', () => {
    assert.equal(readReply('_INBOX.a.s-1--256-0')?.window, 1)
    assert.equal(readReply('_INBOX.a.s-1--256-99999999999')?.window, STREAM_WINDOW)
    assert.equal(readReply('_INBOX.a.s-1--256')?.window, STREAM_WINDOW)
  })

  for (const reply of [
    '_INBOX.Jm6bT2LxCWjajFsuvkqEgn',
    '_INBOX.Jm6bT2LxCWjajFsuvkqEgn.Jm6bT2LxCWjajFsuvkqEgn',
    'r',
    '',
    'x.y',
    'x-1-',
    '_INBOX.a.x-1-',
    '_INBOX.a.r-1'
  ])
    it(`of others are not taken for ours: ${reply}`, () => assert.equal(readReply(reply), undefined))

  it('are read without an exception, whatever they are', () => {
    fc.assert(fc.property(fc.string(), (reply) => void readReply(reply)))
  })
})

describe('bytes', () => {
  it('become parts and are put together again', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 500, size: 'max' }),
        fc.integer({ min: 1, max: 50 }),
        (bytes, size) => {
          const parts = [...partsOf(bytes, size)]
          assert.ok(parts.every((part) => part.length > 0 && part.length <= size))
          assert.deepEqual(new Uint8Array(joined(parts)), bytes)
        }
      )
    )
  })

  it('are those of a text, and behind a head', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const bytes = bytesOf(text)
        assert.equal(textOf(bytes), text)
        assert.equal(textOf(prefixed('p12 ', bytes)), `p12 ${text}`)
      })
    )
  })
})

describe('jsonOf', () => {
  it('refuses what is nested deeper than anybody means it', () => {
    assert.deepEqual(jsonOf('{"a":[1]}'), { a: [1] })
    assert.throws(() => jsonOf('['.repeat(1_001) + ']'.repeat(1_001)), { name: 'ProtocolError' })
  })
})
