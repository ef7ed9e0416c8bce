/** Values of JSON in a form that is read and written in less time: the keys of objects are sent as shapes. */
import type { Codec, Encoded } from '../codec.ts'
import { jsonCodec } from '../json.ts'
import { MARK } from './format.ts'
import { read } from './reading.ts'
import { write } from './writing.ts'

/**
 * The codec of `application/x-json-shapes`: carries and refuses what JSON does. Each message stands for itself. A value
 * that is not an object or a list, or has parts with which this form does not know what to do, goes as JSON.
 */
export const shapesCodec: Codec = {
  mimeType: 'application/x-json-shapes',

  encode(value: unknown): Encoded {
    if (typeof value !== 'object' || value === null) return jsonCodec.encode(value)
    return write(value) ?? jsonCodec.encode(value)
  },

  decode(buffer: Uint8Array, start: number, end: number): unknown {
    return buffer[start] === MARK && start < end
      ? read(buffer, start, end)
      : jsonCodec.decode(buffer, start, end)
  }
}
