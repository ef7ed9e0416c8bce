/** One record: writes the part behind its sequence number, and reads a record that was received. */
import type { Words } from '@elysia-microservices/engine'
import type { MessageHeaders } from '@elysia-microservices/transport/kit'
import { type HeaderName, isReserved, OWN_NAMES } from './headers.ts'

/** Bytes of a varint, for a number that is not negative. */
export function varintSize(value: number): number {
  let size = 1
  for (let rest = value * 2; rest > 127; rest = Math.floor(rest / 128)) size++
  return size
}

/** Writes a varint in Kafka's form (zigzag). @returns the position behind the varint */
export function putVarint(bytes: Uint8Array, value: number, at: number): number {
  let rest = value < 0 ? -2 * value - 1 : 2 * value
  let end = at
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes[end++] = (rest & 127) | 128
  bytes[end++] = rest
  return end
}

/** Reads the bytes of records from the first to the last. */
export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  /** Reads a varint; ends at the end of the bytes at the latest. */
  varint(): number {
    const first = this.bytes[this.at++] ?? 0
    if (first < 128) return first & 1 ? -((first + 1) >> 1) : first >> 1
    let value = first & 127
    for (let factor = 128; ; factor *= 128) {
      const byte = this.bytes[this.at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) break
    }
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2
  }

  /**
   * Skips bytes that have their length in front. @returns how many bytes; -1: the length says that there is no value
   */
  pass(): number {
    const length = this.varint()
    if (length > 0) this.at += length
    return length
  }
}

// ── out ────────────────────────────────────────────────────────────────────────────────────────────────

/** A buffer in which records are written one behind the other; they stay in it until they are sent. */
const USUAL = 64 * 1024
let slab = Buffer.allocUnsafe(USUAL)
/** The beginning of the record that is being written, and the end of what is written so far. */
let start = 0
let end = 0

function makeRoom(count: number): void {
  if (end + count <= slab.length) return
  const larger = Buffer.allocUnsafe(Math.max(USUAL, 2 * (end - start) + count))
  slab.copy(larger, 0, start, end)
  slab = larger
  end -= start
  start = 0
}

function put(words: Words | undefined): void {
  if (words === undefined) {
    makeRoom(1)
    slab[end++] = 1
    return
  }
  if (typeof words !== 'string') {
    makeRoom(5 + words.length)
    end = putVarint(slab, words.length, end)
    slab.set(words, end)
    end += words.length
    return
  }
  makeRoom(5 + 3 * words.length)
  // The length of most texts takes as many bytes as if they were ASCII: they are written where they stay.
  const room = varintSize(words.length)
  const size = slab.write(words, end + room)
  if (varintSize(size) > room) slab.copyWithin(end + varintSize(size), end + room, end + room + size)
  end = putVarint(slab, size, end) + size
}

/** Headers in the bytes of the record format. */
export interface WrittenHeaders {
  readonly count: number
  readonly bytes: Buffer
}

/** Writes headers that many records have in common. */
export function writeHeaders(headers: Readonly<Record<string, string>>): WrittenHeaders {
  start = end
  putHeaders(headers)
  // A copy, because the slab would be kept with it.
  return { count: Object.keys(headers).length, bytes: Buffer.from(slab.subarray(start, end)) }
}

function putHeaders(headers: Readonly<Record<string, string | undefined>>): void {
  for (const name in headers) {
    const text = headers[name]
    if (text === undefined) continue
    put(OWN_NAMES.get(name) ?? name)
    put(text)
  }
}

const NONE: WrittenHeaders = { count: 0, bytes: Buffer.alloc(0) }

/**
 * Writes a record without its sequence number: key, value, headers.
 * @param own the headers of this library or of NestJS @param given the headers of the caller; several values of one
 * name become one, with commas @param common headers that stand in front of all others
 */
export function writeRecord(
  key: Words | undefined,
  value: Words | undefined,
  own: Readonly<Record<string, string | undefined>> = {},
  given?: Readonly<Record<string, string | readonly string[]>>,
  common = NONE
): Buffer {
  start = end
  put(key)
  put(value)
  let { count } = common
  for (const name in own) if (own[name] !== undefined) count++
  for (const _ in given) count++
  makeRoom(5 + common.bytes.length)
  end = putVarint(slab, count, end)
  slab.set(common.bytes, end)
  end += common.bytes.length
  putHeaders(own)
  for (const name in given) {
    put(name)
    put([given[name] as string].flat().join(', '))
  }
  return slab.subarray(start, end)
}

// ── in ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A record that was received. Its parts are read only when they are asked for. */
export class Fetched {
  readonly offset: number
  /** Milliseconds since 1970, as the producer of the record states. */
  readonly timestamp: number
  readonly #bytes: Buffer
  readonly #key: number
  readonly #value: number
  readonly #headers: number
  readonly #end: number

  /** @param cursor stands at the key of the record @param end the position behind the record */
  constructor(offset: number, timestamp: number, cursor: Cursor, end: number) {
    this.offset = offset
    this.timestamp = timestamp
    this.#bytes = cursor.bytes
    this.#end = end
    this.#key = cursor.at
    cursor.pass()
    this.#value = cursor.at
    cursor.pass()
    this.#headers = cursor.at
  }

  /** `undefined`: the record has no key. */
  get key(): Buffer | undefined {
    return this.#part(this.#key)
  }

  get value(): Buffer | undefined {
    return this.#part(this.#value)
  }

  /** The key as text. */
  get keyText(): string | undefined {
    return this.#text(this.#key)
  }

  /** The value as text. */
  get text(): string | undefined {
    return this.#text(this.#value)
  }

  #text(at: number): string | undefined {
    const cursor = new Cursor(this.#bytes, at)
    const length = cursor.varint()
    return length < 0 ? undefined : this.#bytes.toString('utf8', cursor.at, cursor.at + length)
  }

  #part(at: number): Buffer | undefined {
    const cursor = new Cursor(this.#bytes, at)
    const length = cursor.varint()
    return length < 0 ? undefined : this.#bytes.subarray(cursor.at, cursor.at + length)
  }

  /**
   * A header of this library or of NestJS; `undefined`: the record has no such header. If there are several of one
   * name, the last counts.
   */
  header(name: HeaderName): string | undefined {
    const wanted = OWN_NAMES.get(name) as Buffer
    let found: string | undefined
    this.#each((cursor, from, to) => {
      if (to - from !== wanted.length || !isSame(this.#bytes, from, wanted)) return void cursor.pass()
      found = textAt(cursor)
    })
    return found
  }

  /** The headers of the caller; `undefined`: there are none. */
  get callers(): MessageHeaders | undefined {
    let read: Record<string, string> | undefined
    this.#each((cursor, from, to) => {
      if (isReserved(this.#bytes, from, to)) return void cursor.pass()
      read ??= {}
      setOwn(read, this.#bytes.toString('utf8', from, to), textAt(cursor))
    })
    return read
  }

  /** All headers. */
  get headers(): Readonly<Record<string, string>> {
    const read: Record<string, string> = {}
    this.#each((cursor, from, to) => setOwn(read, this.#bytes.toString('utf8', from, to), textAt(cursor)))
    return read
  }

  /** @param visit is called with the position of each name, and may read the value behind it */
  #each(visit: (cursor: Cursor, from: number, to: number) => void): void {
    const cursor = new Cursor(this.#bytes, this.#headers)
    for (let left = cursor.varint(); left > 0 && cursor.at < this.#end; left--) {
      const length = cursor.pass()
      visit(cursor, cursor.at - length, cursor.at)
    }
  }
}

function textAt(cursor: Cursor): string {
  const length = cursor.pass()
  return length <= 0 ? '' : cursor.bytes.toString('utf8', cursor.at - length, cursor.at)
}

/** Sets a property even if a stranger has named a header `__proto__`. */
function setOwn(headers: Record<string, string>, name: string, value: string): void {
  if (name === '__proto__')
    Object.defineProperty(headers, name, { value, enumerable: true, configurable: true, writable: true })
  else headers[name] = value
}

function isSame(bytes: Buffer, from: number, wanted: Buffer): boolean {
  for (let index = wanted.length - 1; index >= 0; index--)
    if (bytes[from + index] !== wanted[index]) return false
  return true
}
