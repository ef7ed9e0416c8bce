/** Connects with TLS, on both runtimes through `node:tls`, because Bun's own sockets do not check host names. */
import net from 'node:net'
import tls from 'node:tls'
import { attach } from './node-socket.ts'
import type { AcceptSocket, ConnectAddress } from './socket.ts'
import type { TlsClientOptions } from './tls.ts'
import { clientTlsFailureOf, closedByServer, isHandshakeFailure } from './tls-failure.ts'
import { certificateOf, contextOptions, TlsSocket } from './tls-socket.ts'

/** Connects with TLS. Rejects with the system's error or a `TlsFailure`. */
export function connectTls(
  address: ConnectAddress,
  accept: AcceptSocket,
  signal: AbortSignal
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const { host, port, path, alpn, tls: options = {} } = address
    const name = options.servername ?? (path === undefined ? host : 'localhost')
    const connection: tls.ConnectionOptions = {
      ...(path === undefined ? { host, port } : { path }),
      ...contextOptions(options),
      ...(alpn && { ALPNProtocols: [...alpn] }),
      // RFC 6066 does not allow IP addresses as a server name.
      servername: net.isIP(name) === 0 ? name : '',
      rejectUnauthorized: options.rejectUnauthorized !== false,
      checkServerIdentity: (_host, certificate) => checkName(options, name, certificate)
    }
    const socket = tls.connect(connection)
    const certificate = options.cert !== undefined
    let failure: Error | undefined
    let cipherChosen = false
    const abort = () => socket.destroy(signal.reason as Error)
    const fail = (error: Error) => {
      failure = error
      // The cipher is checked only after a TLS alert, because Node 20 crashes when asked for the cipher of a socket
      // without a handshake.
      if (isHandshakeFailure(error)) cipherChosen = hasCipher(socket)
    }
    const closed = () => {
      signal.removeEventListener('abort', abort)
      if (signal.aborted) return reject(signal.reason)
      // With TLS 1.2, a Node server refuses a client's certificate with a reset.
      if (certificate && isReset(failure)) reject(closedByServer(certificate, failure))
      else reject(clientTlsFailureOf(failure ?? new Error('ECONNRESET'), { certificate, cipherChosen }))
    }
    signal.addEventListener('abort', abort, { once: true })
    socket.on('error', fail)
    socket.once('close', closed)
    socket.once('secureConnect', () => {
      signal.removeEventListener('abort', abort)
      socket.off('error', fail)
      socket.off('close', closed)
      socket.setNoDelay(true)
      const secured = new TlsSocket(socket)
      let heard = false
      socket.once('data', () => {
        heard = true
      })
      /**
       * Explains a close after connecting: with TLS 1.3, a client is connected before the server has checked its
       * certificate.
       */
      const reasonOfClose = (error: Error | undefined) => {
        // The server has sent data, so it has accepted this client: the handshake is not the reason.
        if (secured.left || heard) return error
        if (!isReset(error)) return clientTlsFailureOf(error as Error, { certificate, cipherChosen: true })
        return closedByServer(certificate, error)
      }
      attach(socket, secured, accept, reasonOfClose)
      resolve()
    })
  })
}

/** Whether a cipher was chosen. Without a cipher, Node returns `undefined`, and Bun an object without a name. */
function hasCipher(socket: tls.TLSSocket): boolean {
  const cipher: { name?: string | null } | undefined = socket.getCipher()
  return Boolean(cipher?.name)
}

function isReset(error: (Error & { code?: string }) | undefined): boolean {
  return error === undefined || /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')
}

function checkName(
  { checkServerIdentity }: TlsClientOptions,
  name: string,
  certificate: tls.PeerCertificate
): Error | undefined {
  if (checkServerIdentity === undefined) return tls.checkServerIdentity(name, certificate)
  try {
    return checkServerIdentity(name, certificateOf(certificate, true))
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
