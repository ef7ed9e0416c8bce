/** Types for TLS options, with the names that Node uses. */
import type { PeerCertificate } from '@elysia-microservices/transport/kit'

/** PEM text, or its bytes. */
export type Pem = string | Uint8Array

/** TLS options of client and server. */
export interface TlsOptions {
  /** The certificate of this end, followed by intermediate certificates. */
  readonly cert?: Pem | undefined
  /** The private key of `cert`. */
  readonly key?: Pem | undefined
  /** The passphrase of an encrypted key. */
  readonly passphrase?: string | undefined
  /**
   * Certificate authorities that may sign the peer's certificate. Default of a client: the authorities that the runtime
   * trusts.
   */
  readonly ca?: Pem | readonly Pem[] | undefined
  /** Lists of revoked certificates. */
  readonly crl?: Pem | readonly Pem[] | undefined
  /** Cipher suites, in the notation of OpenSSL. Default: those of the runtime. */
  readonly ciphers?: string | undefined
  /** Lowest TLS version; versions below TLS 1.2 are not supported. Default: `'TLSv1.2'`. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** Highest TLS version. Default: `'TLSv1.3'`. */
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
}

/** TLS options of a server; `cert` and `key` are required. */
export interface TlsServerOptions extends TlsOptions {
  /** Whether the server requires a client certificate signed by one of `ca`. Default: `false`. */
  readonly requestCert?: boolean | undefined
  /**
   * With `requestCert`: whether the server refuses clients without a certificate signed by one of `ca`. With `false`,
   * `authenticate` decides, and can read `certificate.authorized`. Default: `true`.
   */
  readonly rejectUnauthorized?: boolean | undefined
}

/** TLS options of a client. */
export interface TlsClientOptions extends TlsOptions {
  /** The name that the server's certificate must have. Default: the host; `'localhost'` for a Unix socket. */
  readonly servername?: string | undefined
  /**
   * Whether the client refuses servers without a trusted certificate for the name; use `false` for experiments only.
   * Default: `true`.
   */
  readonly rejectUnauthorized?: boolean | undefined
  /** Checks the name instead of the runtime. If it returns an error, the server is refused. */
  readonly checkServerIdentity?:
    | ((name: string, certificate: PeerCertificate) => Error | undefined)
    | undefined
}
