/** Converts text to bytes, by the function that is fastest in the runtime. */
import { text as utf8 } from '@elysia-microservices/transport/kit'

const encoder = new TextEncoder()

/**
 * The bytes of a text. For 200 characters, `TextEncoder` takes 0.1 us under Bun and 1.6 us under Node; `written`
 * takes 1.4 us under Bun and 0.25 us under Node.
 */
export const bytesOf: (text: string) => Uint8Array =
  process.versions['bun'] !== undefined ? (text) => encoder.encode(text) : written

function written(text: string): Uint8Array {
  const buffer = utf8.allocate(text.length * 3)
  return buffer.subarray(0, utf8.write(buffer, text, 0))
}
