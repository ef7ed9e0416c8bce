/** Upgrades connections on Deno, whose server uses standard WebSockets. */
import { subprotocolOf, TURNS } from '../wire/messages.ts'
import type { Entering, WebSocketDoor } from './door.ts'
import { CloseCode, type RawListener, type RawSocket } from './server-socket.ts'

/** The members of Deno's WebSocket that are used here. */
interface DenoWebSocket {
  binaryType: string
  readonly bufferedAmount: number
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: string | ArrayBuffer }) => void) | null
  onclose: (() => void) | null
  onerror: (() => void) | null
  send(message: Uint8Array): void
  close(code?: number): void
}

/** The members of Deno that are used here. */
interface Deno {
  upgradeWebSocket(request: Request): { readonly socket: DenoWebSocket; readonly response: Response }
}

/** A request as Elysia's adapter passes it on Deno. */
interface DenoRequest extends Request {
  readonly runtime?: {
    readonly deno?: {
      readonly info?: { readonly remoteAddr?: { readonly hostname?: string; readonly port?: number } }
    }
  }
}

/** Milliseconds between two checks of a socket that has unsent bytes: it has no event for the end of sending. */
const LOOK = 10

const { Deno: deno } = globalThis as { readonly Deno?: Deno }

/** The address and port from which a request was sent; `undefined` if they are unknown, or if this is not Deno. */
export function peerOnDeno(
  request: Request
): { address: string | undefined; port: number | undefined } | undefined {
  const from = (request as DenoRequest).runtime?.deno?.info?.remoteAddr
  return from && { address: from.hostname, port: from.port }
}

/**
 * Upgrades a request, and passes its socket to the door. Returns the answer of the upgrade; `undefined` if this is
 * not Deno, or if Deno does not accept the request as an upgrade.
 */
export function upgradeOnDeno(
  door: WebSocketDoor,
  request: Request,
  entering: Entering,
  { receiveBuffer, handshake }: { readonly receiveBuffer: number; readonly handshake: number }
): Response | undefined {
  if (deno === undefined) return undefined
  const protocol = subprotocolOf(request.headers.get('sec-websocket-protocol'))
  let upgraded: ReturnType<Deno['upgradeWebSocket']>
  try {
    upgraded = deno.upgradeWebSocket(request)
  } catch {
    return undefined
  }
  const { socket, response } = upgraded
  // Not by Deno's own option `protocol`: Deno then refuses lists without spaces, which the package `ws` sends.
  if (protocol !== undefined) response.headers.set('sec-websocket-protocol', protocol)
  socket.binaryType = 'arraybuffer'
  // Deno opens the socket in a later turn, or never if the client has left.
  const leave = () => door.leave(entering)
  const timer = setTimeout(() => {
    leave()
    socket.close()
  }, handshake)
  socket.onclose = leave
  socket.onerror = leave
  socket.onopen = () => {
    clearTimeout(timer)
    const raw = new DenoSocket(socket)
    raw.listener = door.enter(raw, entering, protocol === TURNS)
    raw.listen(receiveBuffer)
  }
  return response
}

/** The socket of a session, on top of a standard `WebSocket`. */
class DenoSocket implements RawSocket {
  readonly #socket: DenoWebSocket
  #look: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  listener!: RawListener

  constructor(socket: DenoWebSocket) {
    this.#socket = socket
  }

  listen(longest: number): void {
    const socket = this.#socket
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') return this.listener.message(data)
      if (data.byteLength <= longest) return this.listener.message(new Uint8Array(data))
      socket.close(CloseCode.MESSAGE_TOO_BIG)
      this.#over()
    }
    socket.onclose = () => this.#over()
    // `onclose` is called after an error, too, so the error needs no handling here.
    socket.onerror = () => {}
  }

  get unsent(): number {
    return this.#socket.bufferedAmount
  }

  send(message: Uint8Array): boolean {
    // The bytes are copied, because Deno reads them in a later turn.
    this.#socket.send(message.slice())
    if (this.unsent > 0) this.#look ??= setTimeout(this.#tell, LOOK)
    return true
  }

  close(code: number): void {
    this.#socket.close(code)
  }

  terminate(): void {
    this.#socket.close()
    this.#over()
  }

  // Deno cannot pause reading, so only `limits.receiveBuffer` limits the received bytes.
  pause(): void {}
  resume(): void {}

  readonly #tell = (): void => {
    this.#look = undefined
    if (this.#isOver) return
    if (this.unsent > 0) this.#look = setTimeout(this.#tell, LOOK)
    this.listener.drain()
  }

  /**
   * Ends the socket for the session at once. The WebSocket itself closes only when the peer answers, which it may
   * never do.
   */
  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#look)
    this.#socket.onmessage = null
    this.listener.close()
  }
}
