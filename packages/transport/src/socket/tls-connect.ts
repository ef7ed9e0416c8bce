/** Connects by TLS through `node:tls`, on both runtimes: it checks names where Bun's own sockets leave that to their user. */
import net from 'node:net'
import tls from 'node:tls'
import { attach } from './node-socket.ts'
import type { AcceptSocket, ConnectAddress } from './socket.ts'
import type { TlsClientOptions } from './tls.ts'
import { TlsFailure, tlsFailureOf } from './tls-failure.ts'
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
    let failure: Error | undefined
    const abort = () => socket.destroy(signal.reason as Error)
    const fail = (error: Error) => {
      failure = error
    }
    const closed = () => {
      signal.removeEventListener('abort', abort)
      if (signal.aborted) return reject(signal.reason)
      // By TLS 1.2, Node refuses a client's certificate so.
      const refused = options.cert !== undefined && isReset(failure)
      reject(refused ? closedByServer(failure) : tlsFailureOf(failure ?? new Error('ECONNRESET')))
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
      attach(socket, secured, accept, (error) => reasonOfClose(secured.left, heard, error))
      resolve()
    })
  })
}

function isReset(error: (Error & { code?: string }) | undefined): boolean {
  return error === undefined || /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')
}

function closedByServer(cause: Error | undefined): TlsFailure {
  const message = 'the server closed the connection in the TLS handshake or right after it'
  return new TlsFailure('TLS_CLOSED', `${message}; it may want another client certificate`, cause)
}

/** By TLS 1.3, a client is connected before the server has looked at its certificate. */
function reasonOfClose(left: boolean, heard: boolean, error: Error | undefined): Error | undefined {
  if (error !== undefined && !isReset(error)) return tlsFailureOf(error)
  return left || heard ? error : closedByServer(error)
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
