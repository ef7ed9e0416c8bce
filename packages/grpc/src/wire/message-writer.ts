/** Messages as they are sent: behind five bytes, and packed if that makes them shorter. */
import { MessageFlag, prefixed } from '@elysia-microservices/protobuf/rpc'
import { pack } from './gzip.ts'

/** A message with its prefix, packed if it is long. @param packsFrom bytes from which on it is packed; `Infinity`: never */
export function framed(message: Uint8Array, packsFrom: number): Uint8Array {
  if (message.length < packsFrom) return prefixed(message)
  const packed = pack(message)
  // A picture, which is packed already, grows.
  return packed.length < message.length ? prefixed(packed, MessageFlag.COMPRESSED) : prefixed(message)
}
