/** Compression of messages. */
import { CallFailure, pack, unpack } from '@elysia-microservices/protobuf/rpc'
import { tooLarge } from '../protocol/request-messages.ts'

/** Makes the function that compresses messages of at least this size; `undefined` if none are compressed. */
export function compressing(
  from: number | false
): ((data: Uint8Array) => Uint8Array | undefined) | undefined {
  if (from === false) return undefined
  return (data) => (data.length < from ? undefined : pack(data))
}

/**
 * Decompresses a message.
 * @param limit largest size of the result, which is never exceeded in memory
 * @throws {CallFailure} `resource_exhausted`: the result would be larger; `invalid_argument`: it is not gzip
 */
export function decompressed(data: Uint8Array, limit: number): Uint8Array {
  const whole = unpack(data, limit)
  if (whole === 'too long') throw tooLarge(limit)
  if (whole === 'not gzip')
    throw new CallFailure('invalid_argument', 'The message cannot be decompressed: it is not gzip')
  return whole
}
