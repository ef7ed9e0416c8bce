/** Messages as they are sent: behind five bytes, and packed if that makes them shorter. */
import type { SharedBytes } from '@elysia-microservices/protobuf'
import { MessageFlag, PREFIX, pack, prefixed, writePrefix } from '@elysia-microservices/protobuf/rpc'
import type { MessageCodec } from '../methods.ts'

/** A message with its prefix, packed if it is long. @param packsFrom bytes from which on it is packed; `Infinity`: never */
export function framed(message: Uint8Array, packsFrom: number): Uint8Array {
  const packed = message.length < packsFrom ? undefined : pack(message)
  return packed === undefined ? prefixed(message) : prefixed(packed, MessageFlag.COMPRESSED)
}

/**
 * Encodes a value as `framed` has it. The bytes are valid until the next value is encoded, of any call: so a value of a
 * stream takes no memory of its own.
 * @throws the codec's error
 */
export function encodeFramed(codec: MessageCodec, value: unknown, packsFrom: number): SharedBytes {
  if (codec.encodeShared === undefined) return ownBytes(framed(codec.encode(value), packsFrom))
  const shared = codec.encodeShared(value, PREFIX)
  const { buffer, length } = shared
  const size = length - PREFIX
  if (size >= packsFrom) return ownBytes(framed(buffer.subarray(PREFIX, length), packsFrom))
  writePrefix(buffer, size)
  return shared
}

/** Bytes that are not shared, in the form of those that are. */
export function ownBytes(buffer: Uint8Array): SharedBytes {
  return { buffer, length: buffer.length }
}
