/** Raw bytes: a `Uint8Array` in is a `Uint8Array` out. */
import { copyBytes } from '../bytes/read.ts'
import { OptionError } from '../errors/index.ts'
import type { Codec, Encoded } from './codec.ts'

/** `application/octet-stream`. Decodes into a copy, which outlives the chunk it came in. */
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
