/** What TLS is configured with, and what is known of a peer's certificate. Types alone, named as Node names them. */

/** PEM text, or its bytes. */
export type Pem = string | Uint8Array

/** What both ends have. */
export interface TlsOptions {
  /** Own certificate, followed by the intermediate ones. */
  readonly cert?: Pem | undefined
  /** Private key of `cert`. */
  readonly key?: Pem | undefined
  /** What the key is encrypted with. */
  readonly passphrase?: string | undefined
  /** Authorities the peer's certificate must come from. Default of a client: those the runtime trusts. */
  readonly ca?: Pem | readonly Pem[] | undefined
  /** Lists of revoked certificates. */
  readonly crl?: Pem | readonly Pem[] | undefined
  /** Cipher suites, as OpenSSL writes them. Default: the runtime's. */
  readonly ciphers?: string | undefined
  /** Lowest version. Default: `'TLSv1.2'`; nothing lower is spoken. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** Highest version. Default: `'TLSv1.3'`. */
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
}

/** TLS of a server: `cert` and `key` are needed. */
export interface TlsServerOptions extends TlsOptions {
  /** Ask clients for a certificate of one of `ca`, which is needed then. Default: `false`. */
  readonly requestCert?: boolean | undefined
  /**
   * With `requestCert`: refuse clients without a certificate that `ca` vouches for. `false` leaves the decision to
   * `authenticate`, which sees `certificate.authorized`. Default: `true`.
   */
  readonly rejectUnauthorized?: boolean | undefined
}

/** TLS of a client. */
export interface TlsClientOptions extends TlsOptions {
  /** The name the server's certificate must have. Default: the host; `'localhost'` for a Unix socket. */
  readonly servername?: string | undefined
  /** Refuse servers that cannot prove who they are; `false` is for experiments. Default: `true`. */
  readonly rejectUnauthorized?: boolean | undefined
  /** Checks the name in place of the runtime; an error refuses. */
  readonly checkServerIdentity?:
    | ((name: string, certificate: PeerCertificate) => Error | undefined)
    | undefined
}

/** A distinguished name: `CN`, `O` and so on; an attribute that stands there more than once is a list. */
export type DistinguishedName = Readonly<Record<string, string | readonly string[] | undefined>>

/** The certificate of a peer. */
export interface PeerCertificate {
  /** An authority that is trusted vouches for it. `false` is possible only with `rejectUnauthorized: false`. */
  readonly authorized: boolean
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /** Alternative names, such as `'DNS:service.test, URI:spiffe://test/orders'`; `undefined` if it has none. */
  readonly subjectaltname: string | undefined
  /** SHA-256 of the certificate, as `'AB:CD:…'`. */
  readonly fingerprint256: string
  /** In hexadecimal. */
  readonly serialNumber: string
  /** Start and end of validity, as the runtime writes dates; `new Date(…)` reads them. */
  readonly validFrom: string
  readonly validTo: string
  /** The certificate itself, in DER. */
  readonly raw: Uint8Array
}
