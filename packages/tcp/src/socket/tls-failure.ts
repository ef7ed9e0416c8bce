/** The reason for a TLS failure, as a code and as text, the same for OpenSSL (Node) and BoringSSL (Bun). */

/** The reasons for TLS failures. */
export type TlsFailureCode =
  /** The certificate of the other end has expired. */
  | 'TLS_CERTIFICATE_EXPIRED'
  /** The certificate of the other end is not valid yet. */
  | 'TLS_CERTIFICATE_NOT_YET_VALID'
  /** The certificate of the other end was revoked. */
  | 'TLS_CERTIFICATE_REVOKED'
  /** The certificate of the other end is for another host. */
  | 'TLS_WRONG_HOST'
  /** The certificate of the other end was not signed by a trusted authority. */
  | 'TLS_NOT_TRUSTED'
  /** The server asked for a certificate, but the client has none. */
  | 'TLS_CLIENT_CERTIFICATE_MISSING'
  /** The server does not accept the client's certificate. */
  | 'TLS_CLIENT_CERTIFICATE_REFUSED'
  /** The two ends have no version in common. */
  | 'TLS_VERSION'
  /** The other end does not speak TLS. */
  | 'TLS_NOT_SPOKEN'
  /** The server speaks TLS, but this client does not. */
  | 'TLS_NEEDED'
  /**
   * The server closed the connection during the handshake or right after it, and gave no reason. It may refuse the
   * client's certificate.
   */
  | 'TLS_CLOSED'
  /** The handshake took too long. */
  | 'TLS_TIMEOUT'
  /** Any other failure; the cause of the error tells more. */
  | 'TLS_HANDSHAKE'

/** The error of a failed TLS handshake. */
export class TlsFailure extends Error {
  override name = 'TlsFailure'
  readonly code: TlsFailureCode

  constructor(code: TlsFailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/**
 * Error codes of the runtimes, in both spellings, each with the code and text of this library. The first match counts.
 */
const KNOWN: readonly [RegExp, TlsFailureCode, string][] = [
  // Alerts of the other end.
  [
    /CERTIFICATE_REQUIRED|DID_NOT_RETURN_A_CERTIFICATE/,
    'TLS_CLIENT_CERTIFICATE_MISSING',
    'a client certificate is missing'
  ],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(UNKNOWN|EXPIRED|REVOKED)|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)/,
    'TLS_CLIENT_CERTIFICATE_REFUSED',
    'the other end does not accept the certificate of this end'
  ],
  // Failures that this end has found.
  [/CERT_HAS_EXPIRED|CERTIFICATE_HAS_EXPIRED/, 'TLS_CERTIFICATE_EXPIRED', 'the certificate has expired'],
  [
    /CERT_NOT_YET_VALID|CERTIFICATE_IS_NOT_YET_VALID/,
    'TLS_CERTIFICATE_NOT_YET_VALID',
    'the certificate is not valid yet'
  ],
  [/CERT_REVOKED|CERTIFICATE_REVOKED/, 'TLS_CERTIFICATE_REVOKED', 'the certificate was revoked'],
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'TLS_WRONG_HOST', 'the certificate is for another host'],
  [
    /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|CERT_UNTRUSTED|CERTIFICATE_VERIFY_FAILED|INVALID_CA|INVALID_PURPOSE|SIGNATURE_FAILURE|CERT_CHAIN_TOO_LONG|CERT_REJECTED|UNSPECIFIED/,
    'TLS_NOT_TRUSTED',
    'the certificate was not signed by a trusted authority'
  ],
  [
    /WRONG_VERSION_NUMBER|HTTP_REQUEST|HTTPS_PROXY_REQUEST|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|UNEXPECTED_MESSAGE|INVALID_RECORD|DECODE_ERROR|ENCRYPTED_LENGTH_TOO_LONG/,
    'TLS_NOT_SPOKEN',
    'the other end does not speak TLS'
  ],
  [
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|NO_PROTOCOLS/,
    'TLS_VERSION',
    'there is no version of TLS that both ends allow'
  ],
  // With TLS 1.2, there is no more exact alert for a missing certificate.
  [
    /ALERT_HANDSHAKE_FAILURE/,
    'TLS_HANDSHAKE',
    'the other end refused the TLS handshake; it may want a client certificate, or other ciphers'
  ],
  [/HANDSHAKE_TIMEOUT/, 'TLS_TIMEOUT', 'the TLS handshake took too long'],
  [
    /ECONNRESET|EPIPE|SOCKET_HANG_UP|DISCONNECTED|CONNECTION_CLOSED/,
    'TLS_NOT_SPOKEN',
    'the other end closed the connection during the TLS handshake; it may not speak TLS'
  ]
]

const OF_SYSTEM =
  /^(ECONNREFUSED|ECONNABORTED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENETRESET|ENOENT|EACCES|ETIMEDOUT|EAI_)/

/** Turns the runtime's error of a failed handshake into a `TlsFailure`. Returns errors of the system unchanged. */
export function tlsFailureOf(error: Error & { code?: unknown }): Error {
  if (error instanceof TlsFailure) return error
  const code = typeof error.code === 'string' ? error.code : ''
  // Errors of the system stay unchanged: for example, that no server listens, that a host is unknown, or that the network
  // is gone.
  if (OF_SYSTEM.test(code)) return error
  const known = find(code) ?? find(error.message)
  if (known === undefined) {
    const what = code === '' ? error.message : code
    return new TlsFailure('TLS_HANDSHAKE', `the TLS handshake failed: ${what}`, error)
  }
  const [, failure, sentence] = known
  const detail = failure === 'TLS_WRONG_HOST' ? `: ${error.message}` : code === '' ? '' : ` (${code})`
  return new TlsFailure(failure, sentence + detail, error)
}

/** Facts that a client knows about a handshake that its server has ended. */
export interface ClientHandshake {
  /** Whether the client has a certificate. */
  readonly certificate: boolean
  /** Whether the server had chosen a cipher, so that the failure came later. */
  readonly cipherChosen: boolean
}

const GET_CERTIFICATE = 'set options.tls.cert and options.tls.key'
const BETTER_CERTIFICATE =
  'options.tls.cert must be valid now, and signed by an authority that the server trusts'

/** Like `tlsFailureOf`, but for a client: an alert about a certificate means the client's own certificate. */
export function clientTlsFailureOf(error: Error & { code?: unknown }, handshake: ClientHandshake): Error {
  const failure = tlsFailureOf(error)
  if (!(failure instanceof TlsFailure)) return failure
  const { certificate } = handshake
  const detail = typeof error.code === 'string' ? ` (${error.code})` : ''
  const refused =
    failure.code === 'TLS_CLIENT_CERTIFICATE_REFUSED' ||
    // With TLS 1.2 and a chosen cipher, only the certificate can be the reason.
    (isHandshakeFailure(error) && handshake.cipherChosen)
  // Servers use several different alerts for a missing certificate.
  if (failure.code === 'TLS_CLIENT_CERTIFICATE_MISSING' || (refused && !certificate)) {
    const what = `the server requires a client certificate, but the client has sent none${detail}`
    return new TlsFailure('TLS_CLIENT_CERTIFICATE_MISSING', `${what}; ${GET_CERTIFICATE}`, error)
  }
  if (!refused) return failure
  const what = `the server does not accept the client certificate${detail}`
  return new TlsFailure('TLS_CLIENT_CERTIFICATE_REFUSED', `${what}; ${BETTER_CERTIFICATE}`, error)
}

/** Whether an error is the alert that may refer to ciphers or to certificates. */
export function isHandshakeFailure(error: Error & { code?: unknown }): boolean {
  return /ALERT_HANDSHAKE_FAILURE/.test(String(error.code))
}

/**
 * The failure of a client whose server closed the connection during the handshake or right after it, without a reason.
 */
export function closedByServer(certificate: boolean, cause: Error | undefined): TlsFailure {
  const what = 'the server closed the connection in the TLS handshake or right after it, and gave no reason'
  const why = certificate
    ? `most likely it does not accept the client certificate: ${BETTER_CERTIFICATE}`
    : `if it requires a client certificate, ${GET_CERTIFICATE}`
  return new TlsFailure('TLS_CLOSED', `${what}; ${why}. The server's log may say more`, cause)
}

function find(text: string): (typeof KNOWN)[number] | undefined {
  const words = text.toUpperCase().replace(/[^A-Z0-9]+/g, '_')
  return KNOWN.find(([pattern]) => pattern.test(words))
}
