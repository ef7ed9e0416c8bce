/**
 * Secrets that address calls. Everybody who answers a caller learns its inbox, and everybody who asks a service learns
 * that service's: without a secret for each call they could answer, cancel and wedge the calls of others. 60 random bits
 * are 12 letters; a secret costs 50 ns, because random bytes are fetched for hundreds at a time.
 */

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
/** Letters of a secret. */
export const SECRET_LENGTH = 12
/** Ten bits are two letters. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`
)
const random = new Uint16Array(6 * 512)
let next = random.length

/** A new secret. */
export function newSecret(): string {
  if (next === random.length) {
    crypto.getRandomValues(random)
    next = 0
  }
  let secret = ''
  for (const end = next + SECRET_LENGTH / 2; next < end; next++)
    secret += PAIRS[(random[next] as number) & 1023]
  return secret
}

/** Whether a text has something that could be a secret at a position. */
export function isSecret(text: string, start: number): boolean {
  for (let at = start; at < start + SECRET_LENGTH; at++) {
    const code = text.charCodeAt(at)
    const isLetter = (code >= 97 && code <= 122) || (code >= 50 && code <= 55)
    if (!isLetter) return false
  }
  return true
}
