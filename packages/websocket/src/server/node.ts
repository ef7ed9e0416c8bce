/**
 * Upgrades connections on Node with the package `ws`, on the server of `node:http` that Elysia's adapter uses. The
 * adapter's own WebSockets cannot be used, because they read messages as text and not as bytes.
 */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket, WebSocketServer } from 'ws'
import { subprotocolOf, TURNS } from '../wire/messages.ts'
import type { Entering, WebSocketDoor } from './door.ts'
import type { RawSocket } from './server-socket.ts'

/** The part of an app that answers requests. */
interface App {
  readonly fetch: (request: Request) => Response | Promise<Response>
}

/** A request for an upgrade that the app has not answered yet. */
interface Pending {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly sockets: WebSocketServer
  isUpgraded: boolean
}

/** Headers that say how the body is sent, which here is until the connection ends. */
const HOP_BY_HOP = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding'])

type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void

const pending = new WeakMap<Request, Pending>()

/** The limits of upgrades. */
interface Limits {
  /** Largest size of a message in bytes. */
  readonly receiveBuffer: number
  /** Milliseconds within which an upgrade must be answered. */
  readonly handshake: number
}

/**
 * Passes upgrades for some paths to the app's route as requests. Upgrades for other paths go to the listeners that
 * were registered before. If there are none, the app answers them as if they were no upgrades, as HTTP allows: Node
 * leaves their sockets to this listener alone, and a client may ask for another protocol (`Upgrade: h2c`) everywhere.
 */
export function listenForUpgrades(server: Server, app: App, paths: readonly string[], limits: Limits): void {
  const loading = load(limits.receiveBuffer)
  // The failure is reported to each upgrade, so the rejection must not count as unhandled here.
  loading.catch(() => {})
  const others = server.listeners('upgrade') as UpgradeListener[]
  server.removeAllListeners('upgrade')
  server.on('upgrade', (incoming, socket, head) => {
    socket.on('error', () => {})
    const isOurs = others.length === 0 || paths.includes(pathOf(incoming.url ?? '/'))
    if (!isOurs) for (const other of others) other.call(server, incoming, socket, head)
    else
      void loading
        .then((sockets) =>
          answer(app, { incoming, socket, head, sockets, isUpgraded: false }, limits.handshake)
        )
        .catch(() => socket.destroy())
  })
}

/** The path of a request's target, which may be anything; empty if it is no URL. */
function pathOf(target: string): string {
  try {
    return new URL(target, 'http://localhost').pathname
  } catch {
    return ''
  }
}

/** Loads `ws` only here, because Bun does not need it. */
async function load(longest: number): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws')
  return new WebSocketServer({
    noServer: true,
    maxPayload: longest,
    perMessageDeflate: false,
    handleProtocols: (offered) => subprotocolOf([...offered].join(',')) ?? false
  })
}

async function answer(app: App, upgrade: Pending, within: number): Promise<void> {
  const { incoming, socket } = upgrade
  // Node's own time limits do not apply to the socket of an upgrade, and hooks of the app may take any time.
  const timer = setTimeout(() => {
    if (!upgrade.isUpgraded) socket.destroy()
  }, within)
  socket.once('close', () => clearTimeout(timer))
  const request = requestOf(incoming)
  pending.set(request, upgrade)
  const response = hasBody(incoming)
    ? new Response('A request with a body cannot ask for an upgrade here', { status: 400 })
    : await app.fetch(request)
  if (upgrade.isUpgraded) return
  const head = headOf(response)
  const body = incoming.method === 'HEAD' ? undefined : Buffer.from(await response.arrayBuffer())
  // A client that does not close its side could keep the socket for as long as it likes. Bytes that are not read
  // would cut the answer off.
  socket.once('finish', () => socket.destroy())
  socket.resume()
  socket.end(body === undefined ? head : Buffer.concat([head, body]))
}

/** The first lines of an answer after which the connection ends. */
function headOf({ status, headers }: Response): Buffer {
  const lines = [...headers].flatMap(([name, value]) => (HOP_BY_HOP.has(name) ? [] : [`${name}: ${value}`]))
  return Buffer.from(
    [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, 'connection: close', '', ''].join('\r\n'),
    'latin1'
  )
}

/** Whether a body follows, which Node does not read from the socket of an upgrade. */
function hasBody({ headers }: IncomingMessage): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined
}

/** @throws {TypeError} the request's target or host is no URL */
function requestOf(incoming: IncomingMessage): Request {
  const { href } = new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? 'localhost'}`)
  const request = new Request(href, { method: incoming.method ?? 'GET', headers: headersOf(incoming) })
  // The sender's address is where Elysia's adapter for Node puts it.
  return Object.defineProperty(request, 'ip', { value: incoming.socket.remoteAddress })
}

/** The address and port from which a request for an upgrade was sent; `undefined` if the request is not an upgrade. */
export function peerOnNode(
  request: Request
): { address: string | undefined; port: number | undefined } | undefined {
  const upgrade = pending.get(request)
  if (upgrade === undefined) return undefined
  const { remoteAddress: address, remotePort: port } = upgrade.incoming.socket
  return { address, port }
}

/** Upgrades a request, and passes its socket to the door. Returns false if the request is not an upgrade. */
export function upgradeOnNode(door: WebSocketDoor, request: Request, entering: Entering): boolean {
  const upgrade = pending.get(request)
  if (upgrade === undefined) return false
  const { incoming, socket, head, sockets } = upgrade
  // From here on `ws` answers the request, also if there is an error.
  upgrade.isUpgraded = true
  socket.once('close', () => door.leave(entering))
  sockets.handleUpgrade(incoming, socket, head, (ws) => {
    const listener = door.enter(rawSocket(ws), entering, ws.protocol === TURNS)
    let failure: Error | undefined
    ws.on('message', (message: Buffer, isBinary) => listener.message(isBinary ? message : message.toString()))
    incoming.socket.on('drain', () => listener.drain())
    ws.on('error', (error) => {
      failure = error
    })
    ws.on('close', () => listener.close(failure))
  })
  return true
}

function rawSocket(ws: WebSocket): RawSocket {
  return {
    get unsent() {
      return ws.bufferedAmount
    },
    send(message) {
      // The bytes are copied, because Node keeps a reference until the system has sent them.
      ws.send(Buffer.from(message), { binary: true })
      return true
    },
    close: (code) => ws.close(code),
    terminate: () => ws.terminate(),
    pause: () => ws.pause(),
    resume: () => ws.resume()
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string)
  return headers
}
