/** The encoding of `grpc-message`: UTF-8, in which every byte that is not printable ASCII is written as `%` and hex. */

const utf8 = new TextEncoder()

/**
 * Encodes a text. Only what must be encoded is: some clients do not decode the rest.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 */
export function percentEncoded(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text
  let encoded = ''
  for (const byte of utf8.encode(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}
