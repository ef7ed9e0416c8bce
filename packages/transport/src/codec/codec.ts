/** The interface of codecs, which turn values into bytes and back. */
/** A value as text that is to be UTF-8, or as bytes, which may be overwritten when the next value is encoded. */
export type Encoded = string | Uint8Array

/** Encodes and decodes the data of messages. */
export interface Codec {
  /** The MIME type that names it on the wire. */
  readonly mimeType: string
  /**
   * Encodes a value; `undefined` becomes no bytes. It may run code of the value, such as `toJSON`, which may send
   * messages of its own: so it is called before anything of the message is written.
   * @throws {OptionError} it cannot carry the value; then it is as if it had not been asked
   */
  encode(value: unknown): Encoded
  /**
   * Reads the value between two positions; no bytes become `undefined`.
   * @throws {ProtocolError} the bytes are not of this MIME type
   */
  decode(buffer: Uint8Array, start: number, end: number): unknown
}

/** Gives a codec, when a connection needs it for the first time. */
export type CodecFactory = () => Codec
