/**
 * Tells by the first byte of a connection which protocol its peer speaks. A Nest frame begins with a decimal
 * length; an RSocket connection with a SETUP frame, whose 24-bit length begins with a small byte.
 */

/** Protocols a server can answer. */
export type Protocol = 'nest' | 'rsocket'

/** First byte of a first frame of up to 589,823 bytes; the next byte value is white space. */
const LAST_RSOCKET = 0x08
const NEST_ASCII = new Set(Buffer.from('0123456789 \t\n\v\f\r+-#'))
const FIRST_NON_ASCII = 0x80

/**
 * The protocol that begins with this byte; `undefined` for a peer that speaks neither. Nest reads its length
 * with `parseInt`, which skips white space (a byte order mark included) and takes a sign; a `#` is a frame
 * without length, which is for Nest's side to refuse.
 */
export function detectProtocol(firstByte: number): Protocol | undefined {
  if (firstByte <= LAST_RSOCKET) return 'rsocket'
  return NEST_ASCII.has(firstByte) || firstByte >= FIRST_NON_ASCII ? 'nest' : undefined
}
