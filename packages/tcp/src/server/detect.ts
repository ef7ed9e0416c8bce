/**
 * Detects the protocol of a peer by the first byte of its connection. A Nest frame begins with a decimal length; an
 * RSocket connection begins with a SETUP frame, whose 24-bit length begins with a small byte.
 */

/** The protocols of a server. */
export type Protocol = 'nest' | 'rsocket'

/**
 * Largest first byte of an RSocket connection: a first frame of up to 589,823 bytes. The next larger value is white
 * space.
 */
const LAST_RSOCKET = 0x08
const NEST_ASCII = new Set(Buffer.from('0123456789 \t\n\v\f\r+-#'))
const FIRST_NON_ASCII = 0x80

/**
 * Returns the protocol that begins with this byte; `undefined` if no protocol does. Nest reads its length with
 * `parseInt`, which skips white space (also a byte order mark) and accepts a sign. A `#` is a Nest frame without a
 * length, which Nest's decoder refuses.
 */
export function detectProtocol(firstByte: number): Protocol | undefined {
  if (firstByte <= LAST_RSOCKET) return 'rsocket'
  return NEST_ASCII.has(firstByte) || firstByte >= FIRST_NON_ASCII ? 'nest' : undefined
}
