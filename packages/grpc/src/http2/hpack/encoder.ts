/**
 * Writes the fields of messages in HPACK. Fields that are sent again and again are sent once, and then as a number of one
 * or two bytes, which is cheaper for both ends than any text. Texts are not compressed: those that come once a connection
 * do not count, and others would cost more time than they save bytes. RFC 7541, sections 6 and 7.
 */
import type { ByteWriter } from '@elysia-microservices/transport/kit'
import { DynamicTable, TABLE_SIZE } from './dynamic-table.ts'
import { type Field, FieldKind, sizeOf } from './field.ts'
import { STATIC_FIELDS, STATIC_NAMES } from './static-table.ts'

const INDEXED = 0x80
const INDEXED_BITS = 7
const WITH_INDEXING = 0x40
const WITH_INDEXING_BITS = 6
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_BITS = 5
const NEVER_INDEXED = 0x10
const WITHOUT_INDEXING = 0x00
const WITHOUT_INDEXING_BITS = 4
const LENGTH_BITS = 7

/** Names whose values are the same in most messages of a connection. */
const STEADY: ReadonlySet<string> = new Set([
  ':authority',
  ':path',
  'content-type',
  'grpc-accept-encoding',
  'grpc-encoding',
  'te',
  'user-agent'
])
/** Names whose values no proxy may put in a table: it could be asked whether a guess is right. Section 7.1.3. */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie'])
/** Most bytes of a field for the table: a larger one would displace all others. */
const LARGEST = TABLE_SIZE / 4
/** Most names whose last value is remembered. */
const MOST_NAMES = 64

/** The writing side of one connection. */
export class HpackEncoder {
  readonly #table = new DynamicTable((field) => this.#forget(field))
  /** For each name and value in the table, which field it was, counted from 1. */
  readonly #numbers = new Map<string, Map<string, number>>()
  /** The last value of names that are not steady. A value that comes twice in a row belongs in the table. */
  readonly #last = new Map<string, string>()
  #size = TABLE_SIZE
  /** The smallest size since the last block; `undefined` if the size has not changed. */
  #smallest: number | undefined

  /** The peer's SETTINGS_HEADER_TABLE_SIZE has come: the peer is told at the next block. */
  resize(max: number): void {
    const size = Math.min(max, TABLE_SIZE)
    if (size === this.#size) return
    this.#size = size
    this.#smallest = Math.min(this.#smallest ?? size, size)
    this.#table.resize(size)
  }

  /**
   * Writes fields: name, value, name, value… They must be ASCII, and names in lower case.
   * @throws {Error} a text is not ASCII: then the tables of both ends differ, and the connection must end
   */
  encode(out: ByteWriter, fields: readonly string[]): void {
    if (this.#smallest !== undefined) this.#writeSizes(out, this.#smallest)
    for (let at = 0; at < fields.length; at += 2)
      this.#field(out, fields[at] as string, fields[at + 1] as string)
  }

  #writeSizes(out: ByteWriter, smallest: number): void {
    if (smallest < this.#size) writeNumber(out, SIZE_UPDATE, SIZE_UPDATE_BITS, smallest)
    writeNumber(out, SIZE_UPDATE, SIZE_UPDATE_BITS, this.#size)
    this.#smallest = undefined
  }

  #field(out: ByteWriter, name: string, value: string): void {
    const numbers = this.#numbers.get(name)
    const number = numbers?.get(value)
    if (number !== undefined) return writeNumber(out, INDEXED, INDEXED_BITS, this.#indexOf(number))
    const known = STATIC_NAMES.get(name)
    const index = known?.values.get(value)
    if (index !== undefined) return writeNumber(out, INDEXED, INDEXED_BITS, index)
    const nameIndex = known?.index ?? 0
    if (SECRET.has(name))
      return writeLiteral(out, NEVER_INDEXED, WITHOUT_INDEXING_BITS, nameIndex, name, value)
    if (!this.#isWorth(name, value))
      return writeLiteral(out, WITHOUT_INDEXING, WITHOUT_INDEXING_BITS, nameIndex, name, value)
    writeLiteral(out, WITH_INDEXING, WITH_INDEXING_BITS, nameIndex, name, value)
    this.#remember(name, value)
  }

  /** Whether a field should be in the table. */
  #isWorth(name: string, value: string): boolean {
    const isSteady = STEADY.has(name) || this.#last.get(name) === value
    if (!isSteady && (this.#last.size < MOST_NAMES || this.#last.has(name))) this.#last.set(name, value)
    return isSteady && sizeOf(name, value) <= Math.min(LARGEST, this.#size)
  }

  #remember(name: string, value: string): void {
    this.#table.add({ name, value, kind: FieldKind.REGULAR })
    let numbers = this.#numbers.get(name)
    if (numbers === undefined) {
      numbers = new Map()
      this.#numbers.set(name, numbers)
    }
    numbers.set(value, this.#table.added)
  }

  #forget({ name, value }: Field): void {
    const numbers = this.#numbers.get(name)
    numbers?.delete(value)
    if (numbers?.size === 0) this.#numbers.delete(name)
  }

  #indexOf(number: number): number {
    return STATIC_FIELDS.length + 1 + (this.#table.added - number)
  }
}

function writeLiteral(
  out: ByteWriter,
  kind: number,
  bits: number,
  nameIndex: number,
  name: string,
  value: string
): void {
  writeNumber(out, kind, bits, nameIndex)
  if (nameIndex === 0) writeText(out, name)
  writeText(out, value)
}

/** Writes a number into the last bits of a byte whose first bits are `flags`, and further bytes. Section 5.1. */
export function writeNumber(out: ByteWriter, flags: number, bits: number, value: number): void {
  const most = (1 << bits) - 1
  if (value < most) return out.uint8(flags | value)
  out.uint8(flags | most)
  let rest = value - most
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out.uint8((rest & 0x7f) | 0x80)
  out.uint8(rest)
}

function writeText(out: ByteWriter, value: string): void {
  writeNumber(out, 0, LENGTH_BITS, value.length)
  const start = out.length
  out.utf8(value)
  if (out.length - start !== value.length) throw new Error('A field of HTTP/2 has a character beyond ASCII')
}
