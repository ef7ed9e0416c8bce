/**
 * Upgrades connections on Bun. Elysia's `.ws()` is not used, because it makes an object with a dozen functions for
 * each message.
 */
import { subprotocolOf, TURNS } from '../wire/messages.ts'
import type { Entering, WebSocketDoor } from './door.ts'
import type { RawListener, RawSocket } from './server-socket.ts'

/** The members of Bun's WebSocket that are used here. */
interface BunWebSocket {
  sendBinary(message: Uint8Array): number
  getBufferedAmount(): number
  close(code?: number): void
  terminate(): void
}

/** The members of Bun's server that are used here. */
export interface BunServer {
  upgrade(
    request: Request,
    options: { readonly data: object; readonly headers: Readonly<Record<string, string>> }
  ): boolean
  requestIP(request: Request): { readonly address: string; readonly port: number } | null
}

/** Upgrades a request, and passes its socket to the door. Returns false if the request is not an upgrade. */
export function upgradeOnBun(
  door: WebSocketDoor,
  server: BunServer,
  request: Request,
  entering: Entering
): boolean {
  const protocol = subprotocolOf(request.headers.get('sec-websocket-protocol'))
  let listener: RawListener | undefined
  // Elysia calls these functions for the events of a WebSocket that has this object as its data.
  const data = {
    open(ws: BunWebSocket) {
      listener = door.enter(rawSocket(ws), entering, protocol === TURNS)
    },
    message: (_ws: BunWebSocket, message: string | Uint8Array) => listener?.message(message),
    drain: () => listener?.drain(),
    close: () => listener?.close()
  }
  return server.upgrade(request, {
    data,
    // Without this header, Bun names the first subprotocol of the client; with an empty one it names none.
    headers: { 'sec-websocket-protocol': protocol ?? '' }
  })
}

function rawSocket(ws: BunWebSocket): RawSocket {
  return {
    get unsent() {
      return ws.getBufferedAmount()
    },
    // Bun drops a message that does not fit into Bun's own buffer.
    send: (message) => ws.sendBinary(message) !== 0,
    close: (code) => ws.close(code),
    terminate: () => ws.terminate(),
    // Bun cannot pause reading, so only `limits.receiveBuffer` limits the received bytes.
    pause() {},
    resume() {}
  }
}
