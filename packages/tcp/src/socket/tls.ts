/** Types for TLS options and peers' certificates, with the names that Node uses. */

/** PEM text, or its bytes. */
export type Pem = string | Uint8Array

/** TLS options of both ends. */
export interface TlsOptions {
  /** This end's certificate, followed by the intermediate ones. */
  readonly cert?: Pem | undefined
  /** The private key of `cert`. */
  readonly key?: Pem | undefined
  /** The passphrase of an encrypted key. */
  readonly passphrase?: string | undefined
  /** Authorities that may sign the peer's certificate. Default of a client: the runtime's trusted authorities. */
  readonly ca?: Pem | readonly Pem[] | undefined
  /** Lists of revoked certificates. */
  readonly crl?: Pem | readonly Pem[] | undefined
  /** Cipher suites, as OpenSSL writes them. Default: the runtime's. */
  readonly ciphers?: string | undefined
  /** Lowest version; nothing below TLS 1.2 is supported. Default: `'TLSv1.2'`. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** Highest version. Default: `'TLSv1.3'`. */
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
}

/** TLS options of a server; `cert` and `key` are required. */
export interface TlsServerOptions extends TlsOptions {
  /** Ask clients for a certificate signed by one of `ca`, which is then required. Default: `false`. */
  readonly requestCert?: boolean | undefined
  /**
   * With `requestCert`: refuse clients without a certificate signed by one of `ca`. `false` leaves the decision to
   * `authenticate`, which sees `certificate.authorized`. Default: `true`.
   */
  readonly rejectUnauthorized?: boolean | undefined
}

/** TLS options of a client. */
export interface TlsClientOptions extends TlsOptions {
  /** The name that the server's certificate must have. Default: the host; `'localhost'` for a Unix socket. */
  readonly servername?: string | undefined
  /** Refuse servers without a trusted certificate for the name; `false` is for experiments. Default: `true`. */
  readonly rejectUnauthorized?: boolean | undefined
  /** Checks the name in place of the runtime; returning an error refuses the server. */
  readonly checkServerIdentity?:
    | ((name: string, certificate: PeerCertificate) => Error | undefined)
    | undefined
}

/** A distinguished name: `CN`, `O` and so on; an attribute that occurs more than once is a list. */
export type DistinguishedName = Readonly<Record<string, string | readonly string[] | undefined>>

/** The certificate of a peer. */
export interface PeerCertificate {
  /** Whether a trusted authority has signed it. Can be `false` only with `rejectUnauthorized: false`. */
  readonly authorized: boolean
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /** Alternative names, such as `'DNS:service.test, URI:spiffe://test/orders'`; `undefined` if it has none. */
  readonly subjectaltname: string | undefined
  /** SHA-256 of the certificate, as `'AB:CD:…'`. */
  readonly fingerprint256: string
  /** In hexadecimal. */
  readonly serialNumber: string
  /** Start and end of validity, as text that `new Date(…)` reads. */
  readonly validFrom: string
  readonly validTo: string
  /** The certificate itself, in DER. */
  readonly raw: Uint8Array
}
