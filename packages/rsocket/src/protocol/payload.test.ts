/** Tests Protocol.md, "Metadata and Data": the positions of metadata and data in a frame. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { jsonCodec, ProtocolError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { metadata, uint24 } from '../testing/rsocket-frames.ts'
import { Flag } from './frame-type.ts'
import { dataOf, readPayload, unreadOf } from './payload.ts'

describe('readPayload', () => {
  it('finds metadata and data of any length, also none, wherever the frame is in its chunk', () => {
    const bytes = fc.uint8Array({ maxLength: 20, size: 'max' })
    fc.assert(
      fc.property(bytes, bytes, bytes, bytes, (before, described, data, behind) => {
        const content = metadata(described)
        const buffer = Buffer.concat([before, content, data, behind])
        const at = before.length
        const end = at + content.length + data.length
        const read = readPayload(buffer, Flag.METADATA, at, end)
        assert.deepEqual(buffer.subarray(read.metadataStart, read.metadataEnd), Buffer.from(described))
        assert.deepEqual(buffer.subarray(read.dataStart, read.dataEnd), Buffer.from(data))
        const plain = readPayload(buffer, Flag.NEXT, at, end)
        assert.deepEqual([plain.metadataStart < 0, plain.dataStart, plain.dataEnd], [true, at, end])
      })
    )
  })

  it('refuses a frame that ends before or within its metadata, and says by how much', () => {
    const content = metadata('abc')
    for (const length of [0, 1, 2])
      assert.throws(() => readPayload(content, Flag.METADATA, 0, length), {
        name: 'ProtocolError',
        message: /no metadata length/
      })
    for (const missing of [3, 2, 1])
      assert.throws(() => readPayload(content, Flag.METADATA, 0, content.length - missing), {
        name: 'ProtocolError',
        message: new RegExp(` ${missing} bytes beyond`)
      })
    assert.throws(() => readPayload(uint24(0xffffff), Flag.METADATA, 0, 3), ProtocolError)
  })
})

describe('the data of a payload', () => {
  const of = (text: string) => readPayload(Buffer.from(text), 0, 0, Buffer.byteLength(text))

  it('is read by the codec', () => {
    assert.deepEqual(dataOf(of('[1]'), jsonCodec), [1])
  })

  it('is left unread where that is asked for; no bytes are no value', () => {
    assert.equal(Buffer.from(unreadOf(of('[1]'))?.bytes ?? []).toString(), '[1]')
    assert.equal(unreadOf(of('')), undefined)
  })
})
