import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { postedJson } from './posted.ts'

const MOST = 1024 * 1024
const posted = (body: string | ReadableStream, type = 'application/json') =>
  postedJson(
    new Request('http://localhost', {
      method: 'POST',
      body,
      headers: { 'content-type': type },
      duplex: 'half'
    } as RequestInit),
    MOST
  )

describe('postedJson', () => {
  it('reads JSON and nothing else', async () => {
    assert.deepEqual(await posted('{"a":[1]}'), { a: [1] })
    for (const body of ['', '{']) await assert.rejects(posted(body), /not JSON/)
    await assert.rejects(posted('{}', 'text/plain'), /application\/json/)
  })

  it('reads no body to its end that has none', async () => {
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(64 * 1024))
      }
    })
    await assert.rejects(posted(endless), /longer than/)
    assert.ok(pulled <= MOST / (64 * 1024) + 4)
  })
})
