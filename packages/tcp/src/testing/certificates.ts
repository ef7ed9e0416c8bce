/** Certificates for tests, from `tests/fixtures/tls`, where `tools/scripts/make-test-certificates.ts` stores them. */
import { readFileSync } from 'node:fs'

const read = (file: string) =>
  readFileSync(new URL(`../../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })

/** The certificate authority that has signed all certificates except `stranger`. */
export const authority = read('authority.pem')
export const otherAuthority = read('other-authority.pem')
/** A certificate for localhost, service.test, 127.0.0.1 and ::1. */
export const service = pair('service')
/** A certificate for the same hosts as `service`, with another key and the name CN=renewed. */
export const renewed = pair('renewed')
/** A certificate for other.test. */
export const otherHost = pair('other-host')
/** A certificate that expired in 2020. */
export const expired = pair('expired')
/** A client certificate: O=Tests, CN=caller, URI:spiffe://test/caller. */
export const caller = pair('caller')
/** A client certificate signed by `otherAuthority`. */
export const stranger = pair('stranger')
