/** Codecs turn values into bytes and back, by MIME type. One instance for each connection and direction pair. */
import type { ByteWriter } from '../bytes/byte-writer.ts'

/** Encodes and decodes the data of messages. */
export interface Codec {
  /** The MIME type that names it on the wire. */
  readonly mimeType: string
  /**
   * Whether it remembers what it has seen: then it must read every value of its connection, in order, even one that
   * nobody waits for any more.
   */
  readonly stateful: boolean
  /**
   * Writes a value. `undefined` is no bytes.
   * @throws {OptionError} it cannot carry the value; what it wrote up to there must be taken back
   */
  encode(value: unknown, out: ByteWriter): void
  /**
   * Reads the value that lies between two positions; no bytes are `undefined`.
   * @throws {ProtocolError} the bytes are not of this type
   */
  decode(buffer: Uint8Array, start: number, end: number): unknown
  /** What was encoded last does not reach the other side. Only a codec that remembers need care. */
  takenBack?(): void
}

/** Makes the codec of one connection. */
export type CodecFactory = () => Codec
