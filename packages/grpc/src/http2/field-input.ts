/**
 * Reads the fields of received messages: HEADERS, and the CONTINUATION frames behind it. Every block is read, even that of
 * a stream that is gone, because both ends must have the same table.
 */
import { ByteList, concatBytes } from '@elysia-microservices/transport/kit'
import { protocolFault, tooMuch } from './error-code.ts'
import { Flag } from './frame-type.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { FieldList } from './hpack/field.ts'
import type { Http2Limits } from './limits.ts'

/** The fields of a message. */
export interface ReceivedFields {
  readonly streamId: number
  readonly list: FieldList
  /** Whether the message has nothing behind the fields. */
  readonly isLast: boolean
  /** Whether the fields say that their stream depends on itself. */
  readonly isCircular: boolean
}

/** Reads the fields of one connection. */
export class FieldInput {
  readonly #limits: Http2Limits
  readonly #decoder = new HpackDecoder()
  /** The stream whose fields have begun to arrive and are not complete; 0 for none. */
  #streamId = 0
  #isLast = false
  #isCircular = false
  #frames = 0
  #block: ByteList | undefined

  constructor(limits: Http2Limits) {
    this.#limits = limits
  }

  /** The stream whose CONTINUATION must be the next frame; 0 if there is none. */
  get awaited(): number {
    return this.#streamId
  }

  /**
   * HEADERS have arrived, without padding and priority. Returns the fields if they are complete.
   * @throws {ConnectionFault} they are invalid, or more than the limits allow
   */
  begin(
    streamId: number,
    flags: number,
    isCircular: boolean,
    buffer: Uint8Array,
    start: number,
    end: number
  ): ReceivedFields | undefined {
    this.#isLast = (flags & Flag.END_STREAM) !== 0
    this.#isCircular = isCircular
    if ((flags & Flag.END_HEADERS) !== 0) return this.#read(streamId, buffer, start, end)
    this.#streamId = streamId
    this.#frames = 0
    this.#add(buffer, start, end)
    return undefined
  }

  /**
   * CONTINUATION has arrived. Returns the fields if they are complete.
   * @throws {ConnectionFault} they are invalid, of another stream, or more than the limits allow
   */
  go(
    streamId: number,
    flags: number,
    buffer: Uint8Array,
    start: number,
    end: number
  ): ReceivedFields | undefined {
    if (this.#streamId === 0 || streamId !== this.#streamId)
      throw protocolFault(`CONTINUATION of stream ${streamId} stands behind no HEADERS of this stream`)
    const { continuations } = this.#limits
    if (++this.#frames > continuations)
      throw tooMuch(`The fields of a message have more than ${continuations} CONTINUATION frames`)
    this.#add(buffer, start, end)
    if ((flags & Flag.END_HEADERS) === 0) return undefined
    const block = concatBytes(this.#block?.take() ?? [])
    this.#block = undefined
    this.#streamId = 0
    return this.#read(streamId, block, 0, block.length)
  }

  #add(buffer: Uint8Array, start: number, end: number): void {
    this.#block ??= new ByteList()
    const size = this.#block.length + end - start
    const { fieldsSize } = this.#limits
    if (size > fieldsSize)
      throw tooMuch(`The fields of a message have ${size} bytes; at most ${fieldsSize} are allowed`)
    this.#block.add(buffer.subarray(start, end))
  }

  #read(streamId: number, buffer: Uint8Array, start: number, end: number): ReceivedFields {
    const list = new FieldList(this.#limits.fieldsSize, this.#limits.fields)
    this.#decoder.decode(buffer, start, end, list)
    return { streamId, list, isLast: this.#isLast, isCircular: this.#isCircular }
  }
}
