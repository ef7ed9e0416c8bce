/**
 * A value of JSON as `google.protobuf.Value`, in which details of errors travel: every gRPC library can read it.
 * google/protobuf/struct.proto.
 */
import { concatBytes } from '@elysia-microservices/transport/kit'
import { bytesField, readFields } from './protobuf.ts'

const NULL = 1
const NUMBER = 2
const TEXT = 3
const BOOLEAN = 4
const OBJECT = 5
const LIST = 6
/** Levels of lists and objects that are written and read. */
const DEEPEST = 64
const FIXED64 = 1
const DOUBLE_LENGTH = 8

/**
 * Writes a value that has gone through JSON.
 * @returns `undefined` if it is nested too deeply
 */
export function writeValue(value: unknown, depth = 0): Uint8Array | undefined {
  if (value === null || value === undefined) return Uint8Array.of(NULL << 3, 0)
  if (typeof value === 'boolean') return Uint8Array.of(BOOLEAN << 3, value ? 1 : 0)
  if (typeof value === 'string') return bytesField(TEXT, Buffer.from(value))
  if (typeof value === 'number') {
    const bytes = new Uint8Array(1 + DOUBLE_LENGTH)
    bytes[0] = (NUMBER << 3) | FIXED64
    new DataView(bytes.buffer).setFloat64(1, value, true)
    return bytes
  }
  if (depth === DEEPEST || typeof value !== 'object') return undefined
  const parts: Uint8Array[] = []
  for (const [key, one] of Array.isArray(value) ? value.map((each) => ['', each]) : Object.entries(value)) {
    const written = writeValue(one, depth + 1)
    if (written === undefined) return undefined
    parts.push(
      Array.isArray(value)
        ? bytesField(1, written)
        : bytesField(1, concatBytes([bytesField(1, Buffer.from(key)), bytesField(2, written)]))
    )
  }
  return bytesField(Array.isArray(value) ? LIST : OBJECT, concatBytes(parts))
}

/** A value that was read. */
export interface ReadValue {
  readonly value: unknown
}

/** Reads a value. Returns `undefined` if the bytes are none, or nested too deeply. */
export function readValue(bytes: Uint8Array, depth = 0): ReadValue | undefined {
  let value: unknown = null
  const isRead = readFields(bytes, (number, content) => {
    if (number === NULL) value = null
    else if (number === BOOLEAN) value = content === 1
    else if (typeof content === 'number') return true
    else if (number === NUMBER && content.length === DOUBLE_LENGTH)
      value = new DataView(content.buffer, content.byteOffset).getFloat64(0, true)
    else if (number === TEXT) value = Buffer.from(content).toString()
    else if (number === LIST || number === OBJECT) {
      const nested = depth === DEEPEST ? undefined : readNested(number, content, depth + 1)
      if (nested === undefined) return false
      value = nested
    }
    return true
  })
  return isRead ? { value } : undefined
}

function readNested(kind: number, bytes: Uint8Array, depth: number): object | undefined {
  const list: unknown[] = []
  const entries: [string, unknown][] = []
  const isRead = readFields(bytes, (number, content) => {
    if (number !== 1 || typeof content === 'number') return true
    if (kind === LIST) {
      const one = readValue(content, depth)
      if (one !== undefined) list.push(one.value)
      return one !== undefined
    }
    const entry = readEntry(content, depth)
    if (entry !== undefined) entries.push(entry)
    return entry !== undefined
  })
  if (!isRead) return undefined
  return kind === LIST ? list : Object.fromEntries(entries)
}

function readEntry(bytes: Uint8Array, depth: number): [string, unknown] | undefined {
  let key = ''
  let value: unknown = null
  const isRead = readFields(bytes, (number, content) => {
    if (typeof content === 'number') return true
    if (number === 1) key = Buffer.from(content).toString()
    if (number !== 2) return true
    const read = readValue(content, depth)
    value = read?.value
    return read !== undefined
  })
  return isRead ? [key, value] : undefined
}
