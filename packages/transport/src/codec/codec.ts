/** The interface of codecs, which turn values into bytes and back. Each connection opens its own. */
import type { ByteWriter } from '../bytes/byte-writer.ts'

/** Encodes and decodes the data of messages. */
export interface Codec {
  /** The MIME type that names it on the wire. */
  readonly mimeType: string
  /**
   * Whether it remembers earlier values. Then it must decode every value of its connection in order, even values that
   * are not wanted any more.
   */
  readonly stateful: boolean
  /**
   * Writes a value; `undefined` becomes no bytes.
   * @throws {OptionError} it cannot carry the value; the caller must take back the bytes written so far
   */
  encode(value: unknown, out: ByteWriter): void
  /**
   * Reads the value between two positions; no bytes become `undefined`.
   * @throws {ProtocolError} the bytes are not of this MIME type
   */
  decode(buffer: Uint8Array, start: number, end: number): unknown
  /** The value encoded last will not reach the other side. For stateful codecs only. */
  takenBack?(): void
}

/** Makes the codec of one connection. */
export type CodecFactory = () => Codec
