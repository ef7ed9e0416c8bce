/** Messages that are compressed with gzip, the only compression that all libraries of gRPC and Connect have. */
import { gunzipSync, gzipSync } from 'node:zlib'

/** The fastest level: messages are compressed within the turn of the event loop in which they are sent. */
const LEVEL = 1

/** Packs a message; `undefined` if that would not make it shorter, as with a picture, which is packed already. */
export function pack(bytes: Uint8Array): Uint8Array | undefined {
  const packed = gzipSync(bytes, { level: LEVEL })
  return packed.length < bytes.length ? packed : undefined
}

/**
 * Unpacks a message.
 * @param most bytes that it may have; unpacking stops there, so that a few bytes cannot become gigabytes
 * @returns what is wrong, if it cannot be unpacked
 */
export function unpack(bytes: Uint8Array, most: number): Uint8Array | 'too long' | 'not gzip' {
  // gzip of no bytes is not empty, but clients send an empty message without compressing it.
  if (bytes.length === 0) return bytes
  let whole: Uint8Array
  try {
    whole = gunzipSync(bytes, { maxOutputLength: Math.max(1, most) })
  } catch (error) {
    return (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? 'too long' : 'not gzip'
  }
  if (whole.length > most) return 'too long'
  // Handlers get views of these bytes, which must not be of Node's own class.
  return new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
}
