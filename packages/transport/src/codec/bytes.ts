/** Raw bytes: a `Uint8Array` in is a `Uint8Array` out. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { copyBytes } from '../bytes/read.ts'
import { OptionError } from '../errors/index.ts'
import type { Codec } from './codec.ts'

/** `application/octet-stream`. Decodes into a copy, which outlives the chunk it came in. */
export const bytesCodec: Codec = {
  mimeType: 'application/octet-stream',
  stateful: false,

  encode(value: unknown, out: ByteWriter): void {
    if (value === undefined) return
    if (!(value instanceof Uint8Array))
      throw OptionError.expected('data', "a Uint8Array with the codec 'bytes'", value)
    out.bytes(value)
  },

  decode(buffer: Uint8Array, start: number, end: number): unknown {
    return start === end ? undefined : copyBytes(buffer, start, end)
  }
}
