/**
 * Tells by the first byte of a connection which protocol its peer speaks. The place where a further protocol
 * is added: a Nest frame begins with a decimal length, so every other first byte is free.
 */

/** Protocols a server can answer. */
export type Protocol = 'nest'

/**
 * The protocol that begins with this byte. Nest reads its length with `parseInt`, which skips white space
 * (a byte order mark included) and takes a sign; a `#` is a frame without length. The rest of ASCII is taken
 * as a corrupted Nest length too, so that its sender gets Nest's answer: a closed connection and a log line.
 */
export function detectProtocol(_firstByte: number): Protocol {
  return 'nest'
}
