/** Types of a peer's certificate, with the names that Node uses. */

/** A distinguished name: `CN`, `O` and so on; an attribute that occurs more than once is a list. */
export type DistinguishedName = Readonly<Record<string, string | readonly string[] | undefined>>

/** The certificate of a peer. */
export interface PeerCertificate {
  /** Whether a trusted authority has signed it. Can be `false` only with `rejectUnauthorized: false`. */
  readonly authorized: boolean
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /**
   * Alternative names, such as `'DNS:service.test, URI:spiffe://test/orders'`; `undefined` if the certificate has none.
   */
  readonly subjectaltname: string | undefined
  /** SHA-256 hash of the certificate, as `'AB:CD:…'`. */
  readonly fingerprint256: string
  /** The serial number, in hexadecimal. */
  readonly serialNumber: string
  /** Start and end of validity, as text that `new Date(…)` reads. */
  readonly validFrom: string
  readonly validTo: string
  /** The certificate itself, in DER. */
  readonly raw: Uint8Array
}
