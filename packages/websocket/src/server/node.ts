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

type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void

const pending = new WeakMap<Request, Pending>()

/**
 * Passes upgrades for some paths to the app's route as requests. Upgrades for other paths go to the listeners that
 * were registered before.
 * @param longest largest size of a message in bytes
 */
export function listenForUpgrades(server: Server, app: App, paths: readonly string[], longest: number): void {
  const loading = load(longest)
  // The failure is reported to each upgrade, so the rejection must not count as unhandled here.
  loading.catch(() => {})
  const others = server.listeners('upgrade') as UpgradeListener[]
  server.removeAllListeners('upgrade')
  server.on('upgrade', (incoming, socket, head) => {
    socket.on('error', () => {})
    const { url = '/' } = incoming
    if (paths.includes(pathOf(url)))
      void loading
        .then((sockets) => answer(app, { incoming, socket, head, sockets, isUpgraded: false }))
        .catch(() => socket.destroy())
    else for (const other of others) other.call(server, incoming, socket, head)
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

async function answer(app: App, upgrade: Pending): Promise<void> {
  const { incoming, socket } = upgrade
  const { href } = new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? 'localhost'}`)
  const request = new Request(href, { headers: headersOf(incoming) })
  pending.set(request, upgrade)
  const response = await app.fetch(request)
  if (upgrade.isUpgraded) return
  const { status } = response
  const body = Buffer.from(await response.arrayBuffer())
  const type = response.headers.get('content-type') ?? 'text/plain'
  socket.end(
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`
      ),
      body
    ])
  )
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
