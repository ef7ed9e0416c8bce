/** Certificates for tests, from `tests/fixtures/tls`; `scripts/make-test-certificates.ts` has made them. */
import { readFileSync } from 'node:fs'

const read = (file: string) =>
  readFileSync(new URL(`../../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })

/** Has signed all but `stranger`. */
export const authority = read('authority.pem')
export const otherAuthority = read('other-authority.pem')
/** For localhost, service.test, 127.0.0.1 and ::1. */
export const service = pair('service')
/** The same, with another key and name: CN=renewed. */
export const renewed = pair('renewed')
/** For other.test. */
export const otherHost = pair('other-host')
/** Of 2020. */
export const expired = pair('expired')
/** Of a client: O=Tests, CN=caller, URI:spiffe://test/caller. */
export const caller = pair('caller')
/** Signed by `otherAuthority`. */
export const stranger = pair('stranger')
