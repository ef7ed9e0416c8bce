/** The interface of codecs, which turn values into bytes and back. */
/** An encoded value: text that will be sent as UTF-8, or bytes that the next call of `encode` may overwrite. */
export type Encoded = string | Uint8Array

/** Encodes and decodes the data of messages. */
export interface Codec {
  /** The MIME type that names the codec on the wire. */
  readonly mimeType: string
  /**
   * Encodes a value; `undefined` becomes no bytes. The codec may run code of the value, such as `toJSON`, and that code
   * may send messages. So `encode` is called before any part of the message is written.
   * @throws {OptionError} the codec cannot carry the value; the codec can still be used
   */
  encode(value: unknown): Encoded
  /**
   * Reads the value between two positions; no bytes become `undefined`.
   * @throws {ProtocolError} the bytes are not of this MIME type
   */
  decode(buffer: Uint8Array, start: number, end: number): unknown
}

/** Makes a codec, when a connection needs the codec for the first time. */
export type CodecFactory = () => Codec
