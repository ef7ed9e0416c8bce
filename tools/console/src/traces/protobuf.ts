/**
 * Converts OTLP from protobuf to its JSON form, as far as `otlp.ts` reads it. The field numbers are those of
 * opentelemetry-proto 1.x; other fields are skipped.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** A field of a message, and how it is read. */
interface Field {
  readonly name: string
  readonly wire: WireType
  readonly read: (reader: BinaryReader, depth: number) => unknown
  readonly isRepeated?: boolean
}
type Message = Readonly<Record<number, Field>>

/** Largest depth of nested messages; values may contain values. */
const MAX_DEPTH = 32

const text = (name: string): Field => ({
  name,
  wire: WireType.LengthDelimited,
  read: (reader) => reader.string()
})
const bytes = (name: string): Field => ({
  name,
  wire: WireType.LengthDelimited,
  read: (reader) => Buffer.from(reader.bytes()).toString('hex')
})
const time = (name: string): Field => ({
  name,
  wire: WireType.Bit64,
  read: (reader) => String(reader.fixed64())
})
const number = (name: string): Field => ({ name, wire: WireType.Varint, read: (reader) => reader.uint32() })
const one = (name: string, message: () => Message): Field => ({
  name,
  wire: WireType.LengthDelimited,
  read: (reader, depth) => messageOf(reader, message(), depth)
})
const many = (name: string, message: () => Message): Field => ({ ...one(name, message), isRepeated: true })

const VALUE: Message = {
  1: text('stringValue'),
  2: { name: 'boolValue', wire: WireType.Varint, read: (reader) => reader.bool() },
  3: { name: 'intValue', wire: WireType.Varint, read: (reader) => String(reader.int64()) },
  4: { name: 'doubleValue', wire: WireType.Bit64, read: (reader) => reader.double() },
  5: one('arrayValue', () => ({ 1: many('values', () => VALUE) }))
}
const ATTRIBUTE: Message = { 1: text('key'), 2: one('value', () => VALUE) }
const RESOURCE: Message = { 1: many('attributes', () => ATTRIBUTE) }
const EVENT: Message = { 1: time('timeUnixNano'), 2: text('name'), 3: many('attributes', () => ATTRIBUTE) }
const STATUS: Message = { 2: text('message'), 3: number('code') }
const SPAN: Message = {
  1: bytes('traceId'),
  2: bytes('spanId'),
  4: bytes('parentSpanId'),
  5: text('name'),
  6: number('kind'),
  7: time('startTimeUnixNano'),
  8: time('endTimeUnixNano'),
  9: many('attributes', () => ATTRIBUTE),
  11: many('events', () => EVENT),
  15: one('status', () => STATUS)
}
const LOG_RECORD: Message = {
  1: time('timeUnixNano'),
  3: text('severityText'),
  5: one('body', () => VALUE),
  9: bytes('traceId'),
  10: bytes('spanId'),
  11: time('observedTimeUnixNano')
}
const request = (resources: string, scopes: string, records: string, record: Message): Message => ({
  1: many(resources, () => ({
    1: one('resource', () => RESOURCE),
    2: many(scopes, () => ({ 2: many(records, () => record) }))
  }))
})
const REQUESTS = {
  traces: request('resourceSpans', 'scopeSpans', 'spans', SPAN),
  logs: request('resourceLogs', 'scopeLogs', 'logRecords', LOG_RECORD)
}

/**
 * Decodes a body.
 * @throws {TypeError} the body is not a protobuf message of this type
 */
export function decodeOtlp(signal: 'traces' | 'logs', body: Uint8Array): unknown {
  try {
    return messageOf(new BinaryReader(body), REQUESTS[signal], 0, body.byteLength)
  } catch (error) {
    throw new TypeError(`The body is not OTLP as protobuf: ${(error as Error).message}`)
  }
}

function messageOf(reader: BinaryReader, message: Message, depth: number, length = reader.uint32()) {
  const end = reader.pos + length
  if (end > reader.len) throw new RangeError('the body ends within a message')
  if (depth > MAX_DEPTH) throw new RangeError('its messages are nested too deeply')
  const made: Record<string, unknown> = {}
  while (reader.pos < end) {
    const [number, wire] = reader.tag()
    const field = message[number]
    // Groups are refused: no message of OTLP has them, and they could be nested without limit.
    if (wire === WireType.StartGroup) throw new TypeError('the body has a group')
    if (field === undefined || field.wire !== wire) {
      reader.skip(wire)
      continue
    }
    const value = field.read(reader, depth + 1)
    const known = made[field.name]
    if (field.isRepeated !== true) made[field.name] = value
    else if (Array.isArray(known)) known.push(value)
    else made[field.name] = [value]
  }
  if (reader.pos > end) throw new RangeError('a field ends beyond the end of its message')
  return made
}
