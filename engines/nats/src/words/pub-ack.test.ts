import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isStorage, readPubAck } from './pub-ack.ts'

describe("JetStream's answer to an event", () => {
  it('is a position or an error, and nothing else that somebody may have said', () => {
    const bytes = (text: string) => new TextEncoder().encode(text)
    assert.deepEqual(readPubAck(bytes('{"stream":"s","seq":7}')), { stream: 's', seq: 7 })
    const error = { code: 503, description: 'no' }
    assert.deepEqual(readPubAck(JSON.stringify({ error })), { error })
    for (const text of ['', 'x', 'null', '5', '{}', '{"seq":1.5}', '{"seq":"7"}', '{"stream":"s"}'])
      assert.equal(readPubAck(text), undefined, text)
  })

  it('is known as the body of an answer to a request', () => {
    assert.equal(isStorage({ stream: 's', seq: 7 }), true)
    assert.equal(isStorage({ stream: 's', seq: 7, domain: 'd', duplicate: true }), true)
    for (const body of [
      { stream: 's', seq: 7, domain: 'd', duplicate: true, more: 1 },
      { stream: 5, seq: 7 },
      { stream: 's', seq: '7' },
      { stream: 's' },
      { seq: 7 },
      null,
      's'
    ])
      assert.equal(isStorage(body), false, JSON.stringify(body))
  })
})
