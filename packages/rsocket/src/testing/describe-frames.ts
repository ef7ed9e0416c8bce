/**
 * Describes RSocket frames as text, for tests: `PAYLOAD 1 CN "x"`, `REQUEST_STREAM 1 M n=3 {echo} "x"`. It uses none of
 * the code under test.
 */
import { TYPES } from './rsocket-frames.ts'

const NAMES: Readonly<Record<number, string>> = {
  5: 'json',
  6: 'bytes',
  122: 'data type',
  123: 'accept',
  124: 'auth'
}
const ROUTING = 0x7e

/**
 * Describes whole frames, one text each: type, stream id, flags by letter (Ignore, Metadata, Follows or Respond,
 * Complete or Lease, Next), fields, metadata in braces, data.
 */
export function describeFrames(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes)
  const described: string[] = []
  for (let at = 0; at < buffer.length; ) {
    const end = at + 3 + buffer.readUIntBE(at, 3)
    if (end > buffer.length)
      throw new Error(`A frame reaches ${end - buffer.length} bytes beyond what was sent`)
    described.push(describeFrame(buffer.subarray(at + 3, end)))
    at = end
  }
  return described
}

function describeFrame(frame: Buffer): string {
  const typeAndFlags = frame.readUInt16BE(4)
  const type = TYPES[typeAndFlags >> 10] ?? `0x${(typeAndFlags >> 10).toString(16)}`
  const flags = [...'IMFCN'].filter((_, index) => typeAndFlags & (0x200 >> index)).join('')
  const parts = [type, String(frame.readUInt32BE(0)), flags, ...fieldsOf(type, flags, frame.subarray(6))]
  return parts.filter((part) => part !== '').join(' ')
}

function fieldsOf(type: string, flags: string, body: Buffer): string[] {
  switch (type) {
    case 'ERROR':
      return [`0x${body.readUInt32BE(0).toString(16)}`, body.toString('utf8', 4)]
    case 'REQUEST_N':
      return [String(body.readUInt32BE(0))]
    case 'LEASE':
      return [`${body.readUInt32BE(0)} ms`, String(body.readUInt32BE(4))]
    case 'KEEPALIVE':
      return [String(body.readBigUInt64BE(0)), body.toString('utf8', 8)]
    case 'METADATA_PUSH':
      return [body.toString()]
    case 'SETUP':
      return setupFields(flags, body)
    case 'REQUEST_STREAM':
    case 'REQUEST_CHANNEL':
      return [`n=${body.readUInt32BE(0)}`, ...payloadFields(flags, body.subarray(4))]
    default:
      return payloadFields(flags, body)
  }
}

function payloadFields(flags: string, body: Buffer): string[] {
  if (!flags.includes('M')) return [body.toString()]
  const end = 3 + body.readUIntBE(0, 3)
  return [`{${describeMetadata(body.subarray(3, end))}}`, body.toString('utf8', end)]
}

function setupFields(flags: string, body: Buffer): string[] {
  const fields = [
    `${body.readUInt16BE(0)}.${body.readUInt16BE(2)}`,
    `keepalive=${body.readUInt32BE(4)}`,
    `lifetime=${body.readUInt32BE(8)}`
  ]
  let at = 12
  if (flags.includes('F')) {
    const length = body.readUInt16BE(at)
    fields.push(`token of ${length}`)
    at += 2 + length
  }
  for (let count = 0; count < 2; count++) {
    const end = at + 1 + body.readUInt8(at)
    fields.push(body.toString('latin1', at + 1, end))
    at = end
  }
  return [...fields, ...payloadFields(flags, body.subarray(at))]
}

/** Describes metadata: the route alone, other entries as `type: content`, and other metadata as hexadecimal digits. */
function describeMetadata(metadata: Buffer): string {
  const entries: string[] = []
  for (let at = 0; at < metadata.length; ) {
    const first = metadata.readUInt8(at)
    const nameEnd = first & 0x80 ? at + 1 : at + 1 + first + 1
    if (nameEnd + 3 > metadata.length) return metadata.toString('hex')
    const start = nameEnd + 3
    const end = start + metadata.readUIntBE(nameEnd, 3)
    if (end > metadata.length) return metadata.toString('hex')
    const content = metadata.subarray(start, end)
    if (first === (0x80 | ROUTING)) entries.push(content.toString('utf8', 1))
    else {
      const name = first & 0x80 ? NAMES[first & 0x7f] : metadata.toString('latin1', at + 1, nameEnd)
      entries.push(`${name}: ${name === 'json' ? content.toString() : content.toString('hex')}`)
    }
    at = end
  }
  return entries.join(', ')
}
