/** JSON: the codec every peer has. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { ProtocolError, ValidationError } from '../errors.ts'
import type { Codec } from './codec.ts'

/** `application/json`. Carries what `JSON.stringify` does; a bigint or a circle is an error. */
export const jsonCodec: Codec = {
  mimeType: 'application/json',
  stateful: false,

  encode(value: unknown, out: ByteWriter): void {
    let text: string | undefined
    try {
      text = JSON.stringify(value)
    } catch (cause) {
      throw new ValidationError('data', `a value that JSON can carry (${(cause as Error).message})`, value)
    }
    if (text !== undefined) out.utf8(text)
  },

  decode(buffer: Buffer, start: number, end: number): unknown {
    if (start === end) return undefined
    try {
      return JSON.parse(buffer.toString('utf8', start, end))
    } catch (cause) {
      throw new ProtocolError('Data of type application/json is not JSON', cause)
    }
  }
}
