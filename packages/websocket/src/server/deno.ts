/** Upgrades on Deno, whose WebSockets of servers are the standard ones. */
import { subprotocolOf, TURNS } from '../wire/messages.ts'
import type { Entering, WebSocketDoor } from './door.ts'
import { CloseCode, type RawListener, type RawSocket } from './server-socket.ts'

/** Members of Deno's WebSocket that are used here. */
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

/** Members of Deno that are used here. */
interface Deno {
  upgradeWebSocket(
    request: Request,
    options: { readonly protocol?: string }
  ): { readonly socket: DenoWebSocket; readonly response: Response }
}

/** A request as Elysia's adapter hands it over on Deno. */
interface DenoRequest extends Request {
  readonly runtime?: {
    readonly deno?: {
      readonly info?: { readonly remoteAddr?: { readonly hostname?: string; readonly port?: number } }
    }
  }
}

/** Milliseconds between two looks at a socket that has unsent bytes: it does not say when it has sent them. */
const LOOK = 10

const { Deno: deno } = globalThis as { readonly Deno?: Deno }

/** Where a request comes from; `undefined` if that is not known, or if this is not Deno. */
export function peerOnDeno(
  request: Request
): { address: string | undefined; port: number | undefined } | undefined {
  const from = (request as DenoRequest).runtime?.deno?.info?.remoteAddr
  return from && { address: from.hostname, port: from.port }
}

/**
 * Lets a client in. Returns the answer of its upgrade; `undefined` if this is not Deno, or if it takes the request for no
 * upgrade: it also takes none whose list of subprotocols has no spaces behind its commas.
 */
export function upgradeOnDeno(
  door: WebSocketDoor,
  request: Request,
  entering: Entering,
  longest: number
): Response | undefined {
  if (deno === undefined) return undefined
  const protocol = subprotocolOf(request.headers.get('sec-websocket-protocol'))
  let upgraded: ReturnType<Deno['upgradeWebSocket']>
  try {
    upgraded = deno.upgradeWebSocket(request, protocol === undefined ? {} : { protocol })
  } catch {
    return undefined
  }
  const { socket, response } = upgraded
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    const raw = new DenoSocket(socket)
    raw.listener = door.enter(raw, entering, protocol === TURNS)
    raw.listen(longest)
  }
  return response
}

/** The socket of a session on a standard `WebSocket`. */
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
    // The end comes, too.
    socket.onerror = () => {}
  }

  get unsent(): number {
    return this.#socket.bufferedAmount
  }

  send(message: Uint8Array): boolean {
    // Copied, because Deno takes the bytes in a later turn.
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

  // Nor can it stop reading: `limits.receiveBuffer` bounds what comes.
  pause(): void {}
  resume(): void {}

  readonly #tell = (): void => {
    this.#look = undefined
    if (this.#isOver) return
    if (this.unsent > 0) this.#look = setTimeout(this.#tell, LOOK)
    this.listener.drain()
  }

  /** A peer that does not answer would keep the socket; the session has no use for it. */
  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#look)
    this.#socket.onmessage = null
    this.listener.close()
  }
}
