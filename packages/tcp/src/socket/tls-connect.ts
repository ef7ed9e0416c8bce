/** Connects by TLS through `node:tls`, on both runtimes: it checks names where Bun's own sockets leave that to their user. */
import net from 'node:net'
import tls from 'node:tls'
import { attach } from './node-socket.ts'
import type { AcceptSocket, ConnectAddress } from './socket.ts'
import type { TlsClientOptions } from './tls.ts'
import { clientTlsFailureOf, closedByServer, isHandshakeFailure } from './tls-failure.ts'
import { certificateOf, contextOptions, TlsSocket } from './tls-socket.ts'

/** Connects by TLS. Rejects with the system's error, or with a `TlsFailure`. */
export function connectTls(
  address: ConnectAddress,
  accept: AcceptSocket,
  signal: AbortSignal
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const { host, port, path, tls: options = {} } = address
    const name = options.servername ?? (path === undefined ? host : 'localhost')
    const connection: tls.ConnectionOptions = {
      ...(path === undefined ? { host, port } : { path }),
      ...contextOptions(options),
      // RFC 6066: no addresses here.
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
      // Only for what TLS itself says: Node 20 crashes when it is asked about a handshake that is gone.
      if (isHandshakeFailure(error)) cipherChosen = hasCipher(socket)
    }
    const closed = () => {
      signal.removeEventListener('abort', abort)
      if (signal.aborted) return reject(signal.reason)
      // By TLS 1.2, Node refuses a client's certificate so.
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
      /** By TLS 1.3, a client is connected before the server has looked at its certificate. */
      const reasonOfClose = (error: Error | undefined) => {
        if (!isReset(error)) return clientTlsFailureOf(error as Error, { certificate, cipherChosen: true })
        return secured.left || heard ? error : closedByServer(certificate, error)
      }
      attach(socket, secured, accept, reasonOfClose)
      resolve()
    })
  })
}

/** In the handshake: Node has no object where there is no cipher, Bun one without a name. */
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
