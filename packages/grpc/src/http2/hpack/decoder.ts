/** Reads the fields of messages in HPACK. RFC 7541, sections 3, 5 and 6. */
import { text } from '@elysia-microservices/transport/kit'
import { ConnectionFault, ErrorCode } from '../error-code.ts'
import { DynamicTable, TABLE_SIZE } from './dynamic-table.ts'
import { type Field, type FieldList, fieldOf } from './field.ts'
import { readHuffman } from './huffman.ts'
import { STATIC_FIELDS } from './static-table.ts'

/** The first bits of a representation, and the bits that are left for a number. */
const INDEXED = 0x80
const INDEXED_BITS = 7
const WITH_INDEXING = 0x40
const WITH_INDEXING_BITS = 6
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_BITS = 5
const WITHOUT_INDEXING_BITS = 4
const HUFFMAN = 0x80
const LENGTH_BITS = 7
/** Bits that a number may have beyond its first byte: none within our limits needs more. */
const MOST_BITS = 28
const NOTHING = new Uint8Array()

/** The reading side of one connection. */
export class HpackDecoder {
  readonly #table = new DynamicTable()
  #buffer: Uint8Array = NOTHING
  #at = 0
  #end = 0

  /**
   * Reads a whole block of fields, and adds them to a list.
   * @throws {ConnectionFault} the block is invalid (`COMPRESSION_ERROR`)
   */
  decode(buffer: Uint8Array, start: number, end: number, list: FieldList): void {
    this.#buffer = buffer
    this.#at = start
    this.#end = end
    let mayResize = true
    while (this.#at < this.#end) {
      const first = buffer[this.#at] as number
      if (first >= INDEXED) list.add(this.#field(this.#number(INDEXED_BITS)))
      else if (first >= WITH_INDEXING) {
        const field = this.#literal(WITH_INDEXING_BITS)
        this.#table.add(field)
        list.add(field)
      } else if (first < SIZE_UPDATE) list.add(this.#literal(WITHOUT_INDEXING_BITS))
      else {
        if (!mayResize) throw wrong('A change of the table’s size stands behind a field')
        this.#resize(this.#number(SIZE_UPDATE_BITS))
        continue
      }
      mayResize = false
    }
    this.#buffer = NOTHING
  }

  #resize(size: number): void {
    if (size > TABLE_SIZE) throw wrong(`A table of ${size} bytes; at most ${TABLE_SIZE} are allowed`)
    this.#table.resize(size)
  }

  #field(index: number): Field {
    const field =
      index <= STATIC_FIELDS.length
        ? STATIC_FIELDS[index - 1]
        : this.#table.get(index - STATIC_FIELDS.length - 1)
    if (field === undefined) throw wrong(`There is no field with the index ${index}`)
    return field
  }

  #literal(bits: number): Field {
    const index = this.#number(bits)
    const name = index === 0 ? this.#text() : this.#field(index).name
    return fieldOf(name, this.#text())
  }

  /** A number whose first bits are the last ones of the present byte. */
  #number(bits: number): number {
    const most = (1 << bits) - 1
    let value = this.#byte() & most
    if (value < most) return value
    for (let shift = 0; shift < MOST_BITS; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw wrong('A number has more bytes than any allowed one needs')
  }

  #text(): string {
    const isHuffman = (this.#peek() & HUFFMAN) !== 0
    const length = this.#number(LENGTH_BITS)
    const start = this.#at
    const end = start + length
    if (end > this.#end) throw wrong('A text is longer than its block')
    this.#at = end
    if (!isHuffman) return text.latin1(this.#buffer, start, end)
    const read = readHuffman(this.#buffer, start, end)
    if (read === undefined) throw wrong('A text is no Huffman code')
    return read
  }

  #byte(): number {
    const byte = this.#peek()
    this.#at++
    return byte
  }

  #peek(): number {
    if (this.#at >= this.#end) throw wrong('A block ends within a field')
    return this.#buffer[this.#at] as number
  }
}

function wrong(message: string): ConnectionFault {
  return new ConnectionFault(ErrorCode.COMPRESSION_ERROR, `HPACK: ${message}`)
}
