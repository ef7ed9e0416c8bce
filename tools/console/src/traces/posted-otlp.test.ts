import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PROTOBUF, postedOtlp } from './posted-otlp.ts'

const MOST = 8 * 1024 * 1024
const JSON_TYPE = 'application/json'
const posted = (body: BodyInit, type: string, encoding?: string) =>
  postedOtlp(
    new Request('http://localhost', {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...(encoding !== undefined && { 'content-encoding': encoding }) },
      duplex: 'half'
    } as RequestInit),
    'traces'
  )

describe('postedOtlp', () => {
  it('reads JSON and protobuf, compressed or not, and nothing else', async () => {
    const json = { body: { a: [1] }, isJson: true }
    assert.deepEqual(await posted('{"a":[1]}', `${JSON_TYPE}; charset=utf-8`), json)
    assert.deepEqual(await posted(gzipSync('{"a":[1]}'), JSON_TYPE, 'gzip'), json)
    // An empty group of spans.
    const message = Uint8Array.of(0x0a, 0)
    const protobuf = { body: { resourceSpans: [{}] }, isJson: false }
    assert.deepEqual(await posted(message, PROTOBUF), protobuf)
    assert.deepEqual(await posted(gzipSync(message), PROTOBUF, 'gzip'), protobuf)
    for (const body of ['', '{']) await assert.rejects(posted(body, JSON_TYPE), /not JSON/)
    await assert.rejects(posted('{', PROTOBUF), /not OTLP as protobuf/)
    await assert.rejects(posted('{}', 'text/plain'), /must be application\/json or application\/x-protobuf/)
    await assert.rejects(posted('{}', JSON_TYPE, 'br'), /compressed as br/)
    await assert.rejects(posted('{}', JSON_TYPE, 'gzip'), /not gzip/)
  })

  it('unpacks no more than fits', async () => {
    await assert.rejects(
      posted(gzipSync(new Uint8Array(MOST + 1)), PROTOBUF, 'gzip'),
      /more than 8388608 bytes/
    )
  })

  it('reads no body to its end that has none', async () => {
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(64 * 1024))
      }
    })
    await assert.rejects(posted(endless, JSON_TYPE), /longer than/)
    assert.ok(pulled <= MOST / (64 * 1024) + 4)
  })
})
