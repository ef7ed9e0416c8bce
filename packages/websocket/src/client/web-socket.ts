/** The part of the standard `WebSocket` that is used here, and its way to a server. */
import { ConnectionError, ProtocolError } from '@elysia-microservices/transport/kit'
import { RSOCKET, TURNS } from '../wire/messages.ts'

/** A `WebSocket`: of the browser, of Bun, Deno and Node from 22 on, or of the package `ws`. */
export interface WebSocketLike {
  binaryType: string
  readonly bufferedAmount: number
  readonly protocol: string
  onopen: ((event: never) => unknown) | null
  onmessage: ((event: never) => unknown) | null
  onerror: ((event: never) => unknown) | null
  onclose: ((event: never) => unknown) | null
  send(bytes: Uint8Array<ArrayBuffer>): void
  close(code?: number): void
}

/** Makes one. */
export type NewWebSocket = new (url: string, protocols: string[]) => WebSocketLike

/** Codes that say that this end's bytes are wrong, or too many: the same again would end the same (RFC 6455, 7.4.1). */
const FINAL: readonly number[] = [1002, 1003, 1007, 1008, 1009]

/** Why a `WebSocket` was closed. */
export function closeReason({ code, reason }: { readonly code: number; readonly reason: string }): Error {
  const why = `it was closed with ${code}${reason && ` (${reason})`}`
  return FINAL.includes(code) ? new ProtocolError(why) : new Error(why)
}

/**
 * Connects. Browsers do not say why they cannot.
 * @param signal gives the attempt up
 * @throws {Error} it could not
 */
export function dial(type: NewWebSocket, url: string, signal: AbortSignal): Promise<WebSocketLike> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    // Some servers take the first one, whether they know it or not.
    const socket = new type(url, [RSOCKET, TURNS])
    socket.binaryType = 'arraybuffer'
    const fail = (error: Error) => {
      release(socket)
      socket.close()
      reject(error)
    }
    socket.onopen = () => {
      release(socket)
      resolve(socket)
    }
    socket.onerror = () =>
      fail(new Error('the WebSocket could not be opened: no server, or one that refuses this page'))
    socket.onclose = (event) => fail(closeReason(event))
    signal.addEventListener('abort', () => socket.onopen && fail(signal.reason as Error))
  })
}

/** Listens no more. */
export function release(socket: WebSocketLike): void {
  socket.onopen = socket.onmessage = socket.onclose = null
  // The one of `ws` ends the process for an error that nobody hears.
  socket.onerror = () => {}
}

/** The runtime's own. @throws {ConnectionError} it has none */
export function ownWebSocket(): NewWebSocket {
  const { WebSocket: own } = globalThis as { readonly WebSocket?: NewWebSocket }
  if (own !== undefined) return own
  throw new ConnectionError("This runtime has no WebSocket; give the one of 'ws' as options.WebSocket", false)
}
