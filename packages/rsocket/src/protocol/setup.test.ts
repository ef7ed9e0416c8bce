/** Tests Protocol.md, "SETUP Frame": how its fields are written and read. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { setup, uint16 } from '../testing/rsocket-frames.ts'
import { type OwnSetup, readSetup, writeSetup } from './setup.ts'

const OWN: OwnSetup = {
  keepaliveInterval: 1000,
  maxLifetime: 3000,
  metadataMimeType: 'message/x.rsocket.composite-metadata.v0',
  dataMimeType: 'application/json',
  lease: false,
  resumeToken: undefined,
  metadata: undefined,
  data: undefined
}

function written(own: OwnSetup): Buffer {
  const out = new ByteWriter()
  writeSetup(out, own)
  return Buffer.from(out.copyFrom(0))
}

const read = (bytes: Buffer) => readSetup(bytes, 3, bytes.length)

describe('SETUP Frame', () => {
  it('uses stream 0, and MIME types without a null character at their end [MUST]', () => {
    assert.deepEqual(written(OWN), setup())
  })

  it('has a token only with the resume flag, and says with the lease flag that leases are honoured', () => {
    const token = new TextEncoder().encode('a token')
    assert.deepEqual(
      written({ ...OWN, resumeToken: token, lease: true }),
      setup({ token: 'a token', flags: 'L' })
    )
  })

  it('puts its metadata, with a length, before its data', () => {
    const text = new TextEncoder()
    const bytes = written({ ...OWN, metadata: text.encode('about'), data: text.encode('data') })
    const whole = Buffer.concat([setup({ metadata: 'about' }), Buffer.from('data')])
    whole.writeUIntBE(whole.length - 3, 0, 3)
    assert.deepEqual(bytes, whole)
  })

  it('reads back what it wrote, whatever that is', () => {
    const uint31 = fc.integer({ min: 1, max: 0x7fffffff })
    const mimeType = fc.stringMatching(/^[!-~]{0,255}$/)
    const bytes = fc.uint8Array({ maxLength: 300, size: 'max' })
    const content = fc.option(fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }), {
      nil: undefined
    })
    fc.assert(
      fc.property(
        fc.record({
          keepaliveInterval: uint31,
          maxLifetime: uint31,
          metadataMimeType: mimeType,
          dataMimeType: mimeType,
          lease: fc.boolean(),
          resumeToken: fc.option(bytes, { nil: undefined }),
          metadata: fc.option(bytes, { nil: undefined }),
          data: content
        }),
        (own) => assert.deepEqual(read(written(own)), { majorVersion: 1, minorVersion: 0, ...own })
      )
    )
  })

  it('refuses a frame that ends within any of its fields', () => {
    const whole = setup({ token: 'token', metadata: 'metadata' })
    for (let end = 9; end < whole.length; end++)
      assert.throws(() => readSetup(whole, 3, end), { name: 'ProtocolError' }, `cut at ${end}`)
    assert.equal(read(whole).metadata?.length, 8)
  })

  it('reads no more than 31 bits of its times', () => {
    const bytes = setup()
    bytes.set(uint16(0xffff), 13)
    bytes.set(uint16(0xffff), 15)
    assert.equal(read(bytes).keepaliveInterval, 0x7fffffff)
  })
})
