/** A codec for raw bytes: a `Uint8Array` is sent and received unchanged. */
import { copyBytes } from '../bytes/read.ts'
import { OptionError } from '../errors/index.ts'
import type { Codec, Encoded } from './codec.ts'

/**
 * The codec of `application/octet-stream`. It decodes into a copy, which stays valid when the chunk with the bytes is
 * reused.
 */
export const bytesCodec: Codec = {
  mimeType: 'application/octet-stream',

  encode(value: unknown): Encoded {
    if (value === undefined) return ''
    if (!(value instanceof Uint8Array))
      throw OptionError.expected('data', "a Uint8Array with the codec 'bytes'", value)
    return value
  },

  decode(buffer: Uint8Array, start: number, end: number): unknown {
    return start === end ? undefined : copyBytes(buffer, start, end)
  }
}
