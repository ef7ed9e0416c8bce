/** Compression of messages. */

import { gunzipSync, gzipSync } from 'node:zlib'
import { CallFailure } from '@elysia-microservices/protobuf/rpc'
import { tooLarge } from '../protocol/request-messages.ts'

/** The fastest level: messages are compressed within the turn of the event loop in which they are sent. */
const LEVEL = 1

/** Makes the function that compresses messages of at least this size; `undefined` if none are compressed. */
export function compressing(
  from: number | false
): ((data: Uint8Array) => Uint8Array | undefined) | undefined {
  if (from === false) return undefined
  return (data) => (data.length < from ? undefined : gzipSync(data, { level: LEVEL }))
}

/**
 * Decompresses a message.
 * @param limit largest size of the result, which is never exceeded in memory
 * @throws {CallFailure} `resource_exhausted`: the result would be larger; `invalid_argument`: it is not gzip
 */
export function decompressed(data: Uint8Array, limit: number): Uint8Array {
  // gzip of no bytes is not empty, but clients send an empty message without compressing it.
  if (data.length === 0) return data
  let whole: Uint8Array
  try {
    whole = gunzipSync(data, { maxOutputLength: limit })
  } catch (error) {
    const { code } = Object(error) as { code?: unknown }
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit)
    throw new CallFailure('invalid_argument', 'The message cannot be decompressed: it is not gzip')
  }
  if (whole.length > limit) throw tooLarge(limit, whole.length)
  // Handlers get views of these bytes, which must not be of Node's own class.
  return new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
}
