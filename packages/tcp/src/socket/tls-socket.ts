/** Turns a stream of `node:tls` into a socket of this library, for client and server. Loads no module. */

import type { PeerCertificate as NodeCertificate, SecureContextOptions, TLSSocket } from 'node:tls'
import type { PeerCertificate } from '@elysia-microservices/transport/kit'
import { NodeSocket } from './node-socket.ts'
import type { TlsOptions } from './tls.ts'

/** A socket with TLS. */
export class TlsSocket extends NodeSocket {
  readonly encrypted = true
  readonly #socket: TLSSocket
  #certificate: PeerCertificate | undefined
  /** Whether this side has ended the socket. */
  left = false

  constructor(socket: TLSSocket) {
    super(socket)
    this.#socket = socket
  }

  get certificate(): PeerCertificate | undefined {
    if (this.#certificate !== undefined) return this.#certificate
    const certificate = this.#socket.getPeerCertificate() as NodeCertificate | null | undefined
    if (certificate?.raw === undefined) return undefined
    this.#certificate = certificateOf(certificate, this.#socket.authorized)
    return this.#certificate
  }

  override end(): void {
    this.left = true
    super.end()
  }

  override destroy(): void {
    this.left = true
    super.destroy()
  }
}

/** Turns a certificate of Node into the certificate that users get. */
export function certificateOf(certificate: NodeCertificate, authorized: boolean): PeerCertificate {
  const { subject, issuer, subjectaltname, fingerprint256, serialNumber, raw } = certificate
  return {
    authorized,
    subject: { ...subject },
    issuer: { ...issuer },
    subjectaltname,
    fingerprint256,
    serialNumber,
    validFrom: certificate.valid_from,
    validTo: certificate.valid_to,
    raw
  }
}

/** Makes the options for `node:tls`, without keys that are `undefined`. */
export function contextOptions(options: TlsOptions): SecureContextOptions {
  const { cert, key, passphrase, ca, crl, ciphers, minVersion = 'TLSv1.2', maxVersion } = options
  const given = { cert, key, passphrase, ca, crl, ciphers, maxVersion }
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(entries), minVersion }
}
