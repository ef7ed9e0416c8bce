import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AnswerCounter, echoAnswerLength, encodeEchoRequests } from './nest-frames.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('encoded echo requests', () => {
  it("are Nest's frames, of one length, each with its own id", () => {
    const { bytes: encoded, frameLength } = encodeEchoRequests('abc', 300)
    const text = new TextDecoder().decode(encoded.subarray(0, 300 * frameLength))
    const ids = new Set<string>()
    for (let at = 0; at < text.length; at += frameLength) {
      const [length, json] = text.slice(at, at + frameLength).split(/#(.*)/)
      const packet = JSON.parse(json!) as { pattern: string; data: string; id: string }
      assert.equal(Number(length), json!.length)
      assert.deepEqual({ ...packet, id: '' }, { pattern: 'echo', data: 'abc', id: '' })
      ids.add(packet.id)
    }
    assert.equal(ids.size, 300)
  })

  it('are repeated once, so that any run of them is one slice', () => {
    const { bytes: encoded, frameLength } = encodeEchoRequests('abc', 3)
    assert.equal(encoded.length, 6 * frameLength)
    assert.deepEqual(encoded.subarray(0, 3 * frameLength), encoded.subarray(3 * frameLength))
  })
})

describe('counting answers', () => {
  const right = `{"response":"abc","isDisposed":true,"id":"${'0'.repeat(21)}"}`
  const wrong = '{"err":"no","isDisposed":true,"id":"1"}'
  const stream = [right, wrong, right, right].map((json) => `${json.length}#${json}`).join('')

  for (const size of [1, 2, 3, 5, 7, 64, 100_000]) {
    it(`finds right and wrong answers in chunks of ${size} bytes`, () => {
      const counter = new AnswerCounter(echoAnswerLength('abc'))
      const all = bytes(stream)
      for (let at = 0; at < all.length; at += size) counter.feed(all.subarray(at, at + size))
      assert.deepEqual([counter.right, counter.wrong], [3, 1])
    })
  }

  it('counts a frame with its last byte only', () => {
    const counter = new AnswerCounter(right.length)
    counter.feed(bytes(`${right.length}#${right.slice(0, -1)}`))
    assert.equal(counter.right, 0)
    counter.feed(bytes('}'))
    assert.equal(counter.right, 1)
  })

  for (const noFrame of ['HTTP/1.1 400', '#{}', '0#', '-1#{}']) {
    it(`fails on '${noFrame}'`, () => {
      assert.throws(() => new AnswerCounter(5).feed(bytes(noFrame)), /the server sent no frame/)
    })
  }
})
