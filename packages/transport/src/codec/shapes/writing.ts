/** Writes values of JSON as `application/x-json-shapes`. */
import { isWellFormed, text as utf8 } from '../../bytes/text.ts'
import { MAX_DEPTH } from '../depth.ts'
import {
  CHUNK,
  EMPTY_OBJECT,
  FALSE,
  FLOAT,
  HEAD,
  LIST,
  MARK,
  MAX_SHAPES,
  NULL,
  OBJECT,
  SHORT_LIST,
  SHORT_TEXT,
  SMALL,
  TEXT,
  TRUE,
  WHOLE
} from './format.ts'
import { rootShape, type Shape } from './known-shapes.ts'

const FIRST_SIZE = 16 * 1024
/** A buffer that has grown beyond this size for a large message is dropped after it. */
const KEPT_SIZE = 256 * 1024
/** Most bytes of a value without its members. */
const MOST_OF_VALUE = 16

/** Thrown where JSON has to carry the value. It is one object, because making an error takes microseconds. */
const NEEDS_JSON = new Error('The value goes as JSON')

/** In these everything is visible that somebody has added to the prototypes of lists and objects. */
const NO_ITEMS: readonly unknown[] & { readonly toJSON?: unknown } = []
const NO_MEMBERS = {}

const NO_SHAPES = new Uint8Array(1)

const float = new DataView(new ArrayBuffer(8))
const floatBytes = new Uint8Array(float.buffer)

let out: Uint8Array = new Uint8Array()
let depth = 0
/** The texts that are not yet in `chunks`. */
let texts = ''
let chunks: string[] = []
let message = 0
let root = rootShape()
/** The shapes of the message. */
const shapes: Shape[] = []
let isWriting = false

/**
 * Writes an object or a list; `undefined` if only JSON can carry it, or can say what is wrong with it. The next call
 * overwrites the bytes.
 */
export function write(value: object): Uint8Array | undefined {
  // A getter sends a message while its object is written.
  if (isWriting) return undefined
  isWriting = true
  try {
    return written(value)
  } catch {
    // JSON reads the value again, and says what is wrong.
    return undefined
  } finally {
    isWriting = false
    shapes.length = 0
    texts = ''
    if (chunks.length > 0) chunks = []
    if (out.length > KEPT_SIZE) out = new Uint8Array()
  }
}

function written(value: object): Uint8Array {
  if (NO_ITEMS.toJSON !== undefined) throw NEEDS_JSON
  for (const _ in NO_MEMBERS) throw NEEDS_JSON
  depth = 0
  message++
  root = rootShape()
  const bodyEnd = writeValue(value, '', HEAD)
  let at = writeShapes(bodyEnd)
  for (const chunk of chunks) at = writeChunk(chunk, at)
  if (texts !== '') at = writeChunk(texts, at)
  out[0] = MARK
  setUint32(1, bodyEnd - HEAD)
  return out.subarray(0, at)
}

// A position goes from function to function, because an engine keeps it in a register: in a variable of the module it
// costs a third of the time.

/** @returns the position behind what is written, as the functions below do */
function writeValue(value: unknown, key: string | number, at: number): number {
  if (at + MOST_OF_VALUE > out.length) reserve(at, MOST_OF_VALUE)
  switch (typeof value) {
    case 'string':
      return writeText(value, at)
    case 'number':
      return writeNumber(value, at)
    case 'boolean':
      out[at] = value ? TRUE : FALSE
      return at + 1
    case 'object':
      if (value === null) {
        out[at] = NULL
        return at + 1
      }
      if (Array.isArray(value)) return writeList(value, at)
      if (Object.getPrototypeOf(value) === Object.prototype)
        return writeObject(value as Record<string, unknown>, at)
      return writeOther(value, key, at)
    default:
      throw NEEDS_JSON
  }
}

function writeText(value: string, at: number): number {
  const { length } = value
  if (texts !== '' && texts.length + length > CHUNK) {
    chunks.push(texts)
    texts = value
  } else texts += value
  if (length < 64) {
    out[at] = SHORT_TEXT | length
    return at + 1
  }
  out[at] = TEXT
  setUint32(at + 1, length)
  return at + 5
}

function writeNumber(value: number, at: number): number {
  // This is true for -0, too, which JSON writes as 0.
  if ((value | 0) === value) {
    if (value >= 0 && value < 64) {
      out[at] = SMALL | value
      return at + 1
    }
    out[at] = WHOLE
    setUint32(at + 1, value)
    return at + 5
  }
  if (!Number.isFinite(value)) throw NEEDS_JSON
  float.setFloat64(0, value)
  out[at] = FLOAT
  for (let index = 0; index < 8; index++) out[at + 1 + index] = floatBytes[index] as number
  return at + 9
}

function writeList(list: readonly unknown[] & { readonly toJSON?: unknown }, at: number): number {
  if (list.toJSON !== undefined || ++depth > MAX_DEPTH) throw NEEDS_JSON
  const { length } = list
  let end = at + 1
  if (length < 32) out[at] = SHORT_LIST | length
  else {
    out[at] = LIST
    setUint32(end, length)
    end += 4
  }
  for (let index = 0; index < length; index++) {
    const item = list[index]
    end = writeValue(item === undefined ? null : item, index, end)
  }
  depth--
  return end
}

function writeObject(value: Readonly<Record<string, unknown>>, at: number): number {
  if (++depth > MAX_DEPTH) throw NEEDS_JSON
  let shape = root
  let end = at + 1
  for (const key in value) {
    const member = value[key]
    if (isLeftOut(member, key)) continue
    shape = shape.lastKey === key ? (shape.last as Shape) : nextShape(shape, key)
    end = writeValue(member, key, end)
  }
  endObject(at, shape)
  return end
}

/** An object of a class, or of another realm. */
function writeOther(value: object, key: string | number, at: number): number {
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') {
    const form: unknown = toJSON.call(value, String(key))
    if (typeof form !== 'object' || form === null) return writeValue(form, key, at)
    // JSON does not call `toJSON` of a form again.
    if (Object.getPrototypeOf(form) !== Object.prototype) throw NEEDS_JSON
    return writeObject(form as Record<string, unknown>, at)
  }
  if (Object.prototype.toString.call(value) !== '[object Object]' || isSpecial(value)) throw NEEDS_JSON
  if (++depth > MAX_DEPTH) throw NEEDS_JSON
  let shape = root
  let end = at + 1
  // A loop with `in` would find what the class has on its prototype.
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (isLeftOut(member, name)) continue
    shape = nextShape(shape, name)
    end = writeValue(member, name, end)
  }
  endObject(at, shape)
  return end
}

function nextShape(shape: Shape, key: string): Shape {
  const next = shape.next(key)
  if (next === undefined) throw NEEDS_JSON
  return next
}

/** Whether an object looks like one of a class, and JSON has a rule of its own for it. */
function isSpecial(value: object): boolean {
  return (
    Object.getPrototypeOf(value) === null ||
    value instanceof Map ||
    value instanceof Set ||
    ArrayBuffer.isView(value)
  )
}

/** As in JSON, an object is carried without its methods. */
function isLeftOut(member: unknown, key: string): boolean {
  if (member === undefined || typeof member === 'symbol') return true
  if (typeof member !== 'function') return false
  if (key === 'toJSON') throw NEEDS_JSON
  return true
}

function endObject(head: number, shape: Shape): void {
  depth--
  if (shape === root) out[head] = EMPTY_OBJECT
  else {
    if (shape.message !== message) {
      shape.message = message
      shape.id = shapes.length
      if (shapes.push(shape) > MAX_SHAPES) throw NEEDS_JSON
    }
    out[head] = OBJECT | shape.id
  }
}

function writeShapes(at: number): number {
  const last = shapes[shapes.length - 1]
  const bytes = last === undefined ? NO_SHAPES : last.endOf(shapes)
  if (bytes === undefined) throw NEEDS_JSON
  reserve(at, bytes.length)
  out.set(bytes, at)
  return at + bytes.length
}

function writeChunk(chunk: string, at: number): number {
  // UTF-8 would lose a lone surrogate.
  if (!isWellFormed(chunk)) throw NEEDS_JSON
  reserve(at, 4 + chunk.length * 3)
  const length = utf8.write(out, chunk, at + 4)
  setUint32(at, length)
  return at + 4 + length
}

function setUint32(position: number, value: number): void {
  out[position] = value >>> 24
  out[position + 1] = value >>> 16
  out[position + 2] = value >>> 8
  out[position + 3] = value
}

function reserve(at: number, bytes: number): void {
  if (at + bytes <= out.length) return
  const larger = utf8.allocate(Math.max(at + bytes, out.length * 2, FIRST_SIZE))
  larger.set(out.subarray(0, Math.min(at, out.length)))
  out = larger
}
