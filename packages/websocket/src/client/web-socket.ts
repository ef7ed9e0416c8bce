/** The part of the standard `WebSocket` that is used here, and functions to connect and close one. */
import { ConnectionError, ProtocolError } from '@elysia-microservices/transport/kit'
import { RSOCKET, TURNS } from '../wire/messages.ts'

/** A `WebSocket`: that of the browser, of Bun, Deno or Node from 22 on, or of the package `ws`. */
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

/** The constructor of a `WebSocket`. */
export type NewWebSocket = new (url: string, protocols: string[]) => WebSocketLike

/**
 * Close codes which mean that the bytes of this end are invalid or too many. A retry would fail in the same way
 * (RFC 6455, 7.4.1).
 */
const FINAL: readonly number[] = [1002, 1003, 1007, 1008, 1009]

/** The reason why a `WebSocket` was closed, as an error. */
export function closeReason({ code, reason }: { readonly code: number; readonly reason: string }): Error {
  const why = `the WebSocket closed with code ${code}${reason && ` (${reason})`}`
  return FINAL.includes(code) ? new ProtocolError(why) : new Error(why)
}

/**
 * Connects a `WebSocket`. Browsers do not say why a connection fails.
 * @param signal cancels the attempt
 * @throws {Error} the connection failed
 */
export function dial(type: NewWebSocket, url: string, signal: AbortSignal): Promise<WebSocketLike> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    // Some servers accept the first subprotocol, even if they do not know it. So RSocket's own name comes first.
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
    socket.onerror = () => fail(new Error('the WebSocket failed: no server, or it refuses'))
    socket.onclose = (event) => fail(closeReason(event))
    signal.addEventListener('abort', () => socket.onopen && fail(signal.reason as Error))
  })
}

/** Removes all listeners. */
export function release(socket: WebSocketLike): void {
  socket.onopen = socket.onmessage = socket.onclose = null
  // A `WebSocket` of the package `ws` ends the process if an error has no listener.
  socket.onerror = () => {}
}

/** Returns the runtime's class `WebSocket`. @throws {ConnectionError} the runtime has none */
export function ownWebSocket(): NewWebSocket {
  const { WebSocket: own } = globalThis as { readonly WebSocket?: NewWebSocket }
  if (own !== undefined) return own
  throw new ConnectionError(
    "This runtime has no WebSocket; pass the class of the package 'ws' as options.WebSocket",
    false
  )
}
