/** Types for TLS options, with the names that Node uses. */
import type { PeerCertificate } from '@elysia-microservices/transport/kit'

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
