/** Upgrades under Bun. Elysia's `.ws()` is not used: it makes an object with a dozen functions for each message. */
import { subprotocolOf, TURNS } from '../wire/messages.ts'
import type { Entering, WebSocketDoor } from './door.ts'
import type { RawListener, RawSocket } from './server-socket.ts'

/** Members of Bun's WebSocket that are used here. */
interface BunWebSocket {
  sendBinary(message: Uint8Array): number
  getBufferedAmount(): number
  close(code?: number): void
  terminate(): void
}

/** Members of Bun's server that are used here. */
export interface BunServer {
  upgrade(
    request: Request,
    options: { readonly data: object; readonly headers: Readonly<Record<string, string>> }
  ): boolean
  requestIP(request: Request): { readonly address: string; readonly port: number } | null
}

/** Lets a client in. Returns false if its request is no upgrade. */
export function upgradeOnBun(
  door: WebSocketDoor,
  server: BunServer,
  request: Request,
  entering: Entering
): boolean {
  const protocol = subprotocolOf(request.headers.get('sec-websocket-protocol'))
  let listener: RawListener | undefined
  // Elysia calls these with each event of a WebSocket that has them as its data.
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
    headers: protocol === undefined ? {} : { 'sec-websocket-protocol': protocol }
  })
}

function rawSocket(ws: BunWebSocket): RawSocket {
  return {
    get unsent() {
      return ws.getBufferedAmount()
    },
    // Bun drops what does not fit into its own buffer.
    send: (message) => ws.sendBinary(message) !== 0,
    close: (code) => ws.close(code),
    terminate: () => ws.terminate(),
    // Bun cannot stop reading: `limits.receiveBuffer` bounds what comes.
    pause() {},
    resume() {}
  }
}
