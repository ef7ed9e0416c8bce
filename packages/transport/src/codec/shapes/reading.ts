/** Reads `application/x-json-shapes`. Bytes may come from anybody: each length is checked before it is used. */
import { readUint32 } from '../../bytes/read.ts'
import { text as utf8 } from '../../bytes/text.ts'
import { ProtocolError } from '../../errors/index.ts'
import { MAX_DEPTH } from '../depth.ts'
import {
  CHUNK,
  EMPTY_OBJECT,
  FALSE,
  FLOAT,
  HEAD,
  LIST,
  MAX_SHAPES,
  NULL,
  OBJECT,
  SHAPE_HEAD,
  SHORT_LIST,
  SHORT_TEXT,
  SMALL,
  TEXT,
  TRUE,
  WHOLE
} from './format.ts'
import { type LearnedShape, shapeAt } from './learned-shapes.ts'

const float = new DataView(new ArrayBuffer(8))
const floatBytes = new Uint8Array(float.buffer)
const NO_BYTES = new Uint8Array()

let buffer: Uint8Array = NO_BYTES
let at = 0
/** The end of the body. A value may be read beyond it by a few bytes, which `read` finds out. */
let bodyEnd = 0
let end = 0
let depth = 0
/**
 * The values that lists and objects have promised and that were not read yet. Each takes a byte at least, so there are
 * never more of them than bytes: lists within lists that each promise the rest of a message would take gigabytes.
 */
let owed = 0
/** The chunk of text that is being read, and the position in it. */
let chunk = ''
let chunkAt = 0
let nextChunkAt = 0
const shapes: LearnedShape[] = []
let shapeCount = 0

/**
 * Reads a message that begins with the mark.
 * @throws {ProtocolError} the bytes are no such message
 */
export function read(bytes: Uint8Array, start: number, stop: number): unknown {
  try {
    return readMessage(bytes, start, stop)
  } finally {
    // The message must not stay in memory until the next one arrives.
    buffer = NO_BYTES
    chunk = ''
  }
}

function readMessage(bytes: Uint8Array, start: number, stop: number): unknown {
  buffer = bytes
  end = stop
  depth = 0
  owed = 1
  chunk = ''
  chunkAt = 0
  at = start + HEAD
  // There is at least the number of shapes behind the body.
  if (at >= stop) throw damaged()
  bodyEnd = at + readUint32(bytes, start + 1)
  if (bodyEnd >= stop) throw damaged()
  readShapes()
  const value = readValue()
  if (at !== bodyEnd || chunkAt !== chunk.length || nextChunkAt !== end) throw damaged()
  return value
}

function readShapes(): void {
  let position = bodyEnd
  shapeCount = buffer[position++] as number
  if (shapeCount > MAX_SHAPES) throw damaged()
  for (let index = 0; index < shapeCount; index++) {
    const start = position + SHAPE_HEAD
    if (start > end) throw damaged()
    position = start + (((buffer[start - 2] as number) << 8) | (buffer[start - 1] as number))
    if (position > end) throw damaged()
    const shape = shapeAt(readUint32(buffer, start - SHAPE_HEAD), buffer, start, position)
    if (shape === undefined) throw damaged()
    shapes[index] = shape
  }
  nextChunkAt = position
}

function readValue(): unknown {
  owed--
  const type = buffer[at++] as number
  if (type >= OBJECT) return readObject(type & 31)
  if (type >= SHORT_LIST) return readList(type & 31)
  if (type >= SHORT_TEXT) return readText(type & 63)
  if (type >= SMALL) return type & 63
  switch (type) {
    case WHOLE:
      at += 4
      return readUint32(buffer, at - 4) | 0
    case FLOAT:
      return readFloat()
    case TRUE:
      return true
    case FALSE:
      return false
    case NULL:
      return null
    case TEXT:
      at += 4
      return readText(readUint32(buffer, at - 4))
    case LIST:
      at += 4
      return readList(readUint32(buffer, at - 4))
    case EMPTY_OBJECT:
      if (depth >= MAX_DEPTH) throw tooDeep()
      return {}
    default:
      throw damaged()
  }
}

function readFloat(): number {
  for (let index = 0; index < 8; index++) floatBytes[index] = buffer[at++] as number
  const value = float.getFloat64(0)
  // JSON has no other numbers.
  if (!Number.isFinite(value)) throw damaged()
  return value
}

function readText(length: number): string {
  if (chunkAt + length > chunk.length) nextChunk(length)
  const start = chunkAt
  chunkAt += length
  return chunk.substring(start, chunkAt)
}

/** @param length the length of the text with which the chunk begins */
function nextChunk(length: number): void {
  const start = nextChunkAt + 4
  if (chunkAt !== chunk.length || start > end) throw damaged()
  nextChunkAt = start + readUint32(buffer, start - 4)
  if (nextChunkAt > end) throw damaged()
  chunk = utf8.read(buffer, start, nextChunkAt)
  chunkAt = 0
  if (length > chunk.length || (chunk.length > CHUNK && chunk.length !== length)) throw damaged()
}

/** Enters a list or an object of so many values. */
function enter(length: number): void {
  owed += length
  if (owed > bodyEnd - at) throw damaged()
  if (++depth > MAX_DEPTH) throw tooDeep()
}

function readList(length: number): unknown[] {
  enter(length)
  const list = new Array<unknown>(length)
  for (let index = 0; index < length; index++) list[index] = readValue()
  depth--
  return list
}

function readObject(id: number): object {
  if (id >= shapeCount) throw damaged()
  const shape = shapes[id] as LearnedShape
  enter(shape.keys.length)
  const value = shape.make(readValue)
  depth--
  return value
}

function damaged(): ProtocolError {
  return new ProtocolError('Data of type application/x-json-shapes is damaged')
}

function tooDeep(): ProtocolError {
  return new ProtocolError(`The data has more than ${MAX_DEPTH} levels of arrays and objects`)
}
