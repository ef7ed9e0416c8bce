/** The field `grpc-message`: UTF-8, whose bytes outside of printable ASCII, and `%`, are written as `%` and two digits. */
import { Buffer } from 'node:buffer'

const PLAIN = /^[\x20-\x24\x26-\x7e]*$/
const PERCENT = 0x25
const FIRST_PLAIN = 0x20
const LAST_PLAIN = 0x7e
const ENCODED = /%([\dA-Fa-f]{2})/g

/** Writes a text. @param most characters at which the result is cut, between two characters of the text */
export function writePercent(text: string, most: number): string {
  if (text.length <= most && PLAIN.test(text)) return text
  let written = ''
  for (const character of text) {
    const part = writeCharacter(character)
    if (written.length + part.length > most) break
    written += part
  }
  return written
}

function writeCharacter(character: string): string {
  let written = ''
  for (const byte of Buffer.from(character))
    written +=
      byte < FIRST_PLAIN || byte > LAST_PLAIN || byte === PERCENT
        ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
        : String.fromCharCode(byte)
  return written
}

/**
 * Reads a text. What is not encoded as it should be is left as it is, and bytes that are not UTF-8 become U+FFFD: a wrong
 * message is better than none.
 */
export function readPercent(value: string): string {
  if (!value.includes('%')) return value
  const bytes = value.replace(ENCODED, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16))
  )
  return Buffer.from(bytes, 'latin1').toString()
}
