/**
 * Secrets in the addresses of calls. Every service that answers a caller learns the caller's inbox, and every caller
 * learns the inbox of its service. Without a secret for each call they could answer, cancel and block the calls of
 * others. A secret has 12 letters, which are 60 random bits, and costs 50 ns, because random bytes are fetched for
 * hundreds of secrets at a time.
 */

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
/** Number of letters of a secret. */
export const SECRET_LENGTH = 12
/** The two letters for each value of ten bits. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`
)
const random = new Uint16Array(6 * 512)
let next = random.length

/** Makes a new secret. */
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

/** For simulations: the next secret comes from new random bytes, as in a new process. */
export function forgetSecrets(): void {
  next = random.length
}

/** Whether a text has 12 letters that may be a secret at a position. */
export function isSecret(text: string, start: number): boolean {
  for (let at = start; at < start + SECRET_LENGTH; at++) {
    const code = text.charCodeAt(at)
    const isLetter = (code >= 97 && code <= 122) || (code >= 50 && code <= 55)
    if (!isLetter) return false
  }
  return true
}
