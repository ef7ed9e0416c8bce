/** Messages that are compressed with gzip, the only compression that every gRPC library has. */
import { gunzipSync, gzipSync } from 'node:zlib'

/** The names of the compressions that are read, as `grpc-accept-encoding` has them. */
export const ACCEPTED = 'gzip,identity'

/** Whether messages of an encoding can be read. */
export function isReadable(encoding: string): boolean {
  return encoding === 'gzip' || encoding === 'identity'
}

/**
 * Unpacks a message.
 * @param most bytes that it may have; unpacking stops there, so that a few bytes cannot become gigabytes
 * @returns what is wrong, if it cannot be unpacked
 */
export function unpack(bytes: Uint8Array, most: number): Uint8Array | 'too long' | 'not gzip' {
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.max(1, most) })
  } catch (error) {
    return (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? 'too long' : 'not gzip'
  }
}

/** Packs a message. */
export function pack(bytes: Uint8Array): Uint8Array {
  return gzipSync(bytes)
}
