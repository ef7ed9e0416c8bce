/** Messages as they are sent: behind five bytes, and packed if that makes them shorter. */
import { MessageFlag, pack, prefixed } from '@elysia-microservices/protobuf/rpc'

/** A message with its prefix, packed if it is long. @param packsFrom bytes from which on it is packed; `Infinity`: never */
export function framed(message: Uint8Array, packsFrom: number): Uint8Array {
  const packed = message.length < packsFrom ? undefined : pack(message)
  return packed === undefined ? prefixed(message) : prefixed(packed, MessageFlag.COMPRESSED)
}
