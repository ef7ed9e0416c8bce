/** Tests Protocol.md, "Frame Types": each written frame byte by byte, and the reading of RESUME. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import {
  cancel,
  error,
  frame,
  keepalive,
  lease,
  payload,
  requestN,
  uint16,
  uint32
} from '../testing/rsocket-frames.ts'
import {
  errorCodeName,
  type ResumeRequest,
  readResume,
  writeCancel,
  writeComplete,
  writeError,
  writeKeepalive,
  writeLease,
  writeMetadataPush,
  writeRequestN,
  writeResume,
  writeResumeOk
} from './frames.ts'

/** Returns the bytes of a write that follows another write. */
function written(write: (out: ByteWriter) => void): Buffer {
  const out = new ByteWriter()
  out.utf8('before')
  write(out)
  return Buffer.from(out.copyFrom('before'.length))
}

const RESUME: ResumeRequest = {
  token: new TextEncoder().encode('a token'),
  lastReceivedServerPosition: 2 ** 32 + 5,
  firstAvailableClientPosition: 7
}

describe('a frame', () => {
  const data = new TextEncoder().encode('data')
  const position = Buffer.concat([uint32(1), uint32(5)])
  const cases: [name: string, write: (out: ByteWriter) => void, expected: Buffer][] = [
    ['REQUEST_N', (out) => writeRequestN(out, 7, 3), requestN(7, 3)],
    ['CANCEL', (out) => writeCancel(out, 7), cancel(7)],
    ['PAYLOAD that completes', (out) => writeComplete(out, 7), payload(7, 'C')],
    ['ERROR', (out) => writeError(out, 7, 0x201, 'größe'), error(7, 0x201, 'größe')],
    ['ERROR without text', (out) => writeError(out, 0, 0x102, ''), error(0, 0x102, '')],
    ['KEEPALIVE that asks', (out) => writeKeepalive(out, true, 0, data), keepalive('R', 'data')],
    ['KEEPALIVE that answers', (out) => writeKeepalive(out, false, 0, data), keepalive('', 'data')],
    [
      'KEEPALIVE with a position',
      (out) => writeKeepalive(out, false, 2 ** 32 + 5, data),
      frame(0, 'KEEPALIVE', '', position, data)
    ],
    ['METADATA_PUSH', (out) => writeMetadataPush(out, data), frame(0, 'METADATA_PUSH', 'M', data)],
    ['LEASE', (out) => writeLease(out, 1_000, 3), lease(1_000, 3)],
    [
      'RESUME',
      (out) => writeResume(out, RESUME),
      frame(0, 'RESUME', '', uint16(1), uint16(0), uint16(7), 'a token', position, uint32(0), uint32(7))
    ],
    ['RESUME_OK', (out) => writeResumeOk(out, 2 ** 32 + 5), frame(0, 'RESUME_OK', '', position)]
  ]
  for (const [name, write, expected] of cases)
    it(`${name} has the bytes of the specification [MUST]`, () => {
      assert.deepEqual(written(write), expected)
    })
})

describe('RESUME', () => {
  const positions = fc.nat({ max: Number.MAX_SAFE_INTEGER })

  it('is read as it was written, wherever it stands', () => {
    fc.assert(
      fc.property(
        fc.record({
          token: fc.uint8Array({ maxLength: 300, size: 'max' }),
          lastReceivedServerPosition: positions,
          firstAvailableClientPosition: positions
        }),
        fc.uint8Array({ maxLength: 9 }),
        (resume, before) => {
          const bytes = Buffer.concat([before, written((out) => writeResume(out, resume)), before])
          const start = before.length + 3
          assert.deepEqual(readResume(bytes, start, bytes.length - before.length), { ...resume })
        }
      )
    )
  })

  it('is refused where it ends within a field, whatever comes behind it', () => {
    const whole = Buffer.concat([written((out) => writeResume(out, RESUME)), Buffer.alloc(40)])
    const end = whole.length - 40
    for (let cut = 9; cut < end; cut++)
      assert.throws(
        () => readResume(whole, 3, cut),
        { name: 'ProtocolError', message: 'A RESUME frame ends within one of its fields' },
        `cut at ${cut}`
      )
    assert.deepEqual(readResume(whole, 3, end), RESUME)
  })
})

describe('the name of an error code', () => {
  it('is that of the specification, or the number of a code that it does not know', () => {
    assert.equal(errorCodeName(0x202), 'REJECTED')
    assert.equal(errorCodeName(0x001), 'INVALID_SETUP')
    assert.equal(errorCodeName(0x301), '0x00000301')
    assert.equal(errorCodeName(0xfffffffe), '0xfffffffe')
  })
})
