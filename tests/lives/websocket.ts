/** WebSockets over the world's sockets: that of a page, and that of a service's door. A message never loses its bounds. */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import type { ServerTransport, Transport } from '@elysia-microservices/transport'
import {
  type Door,
  newClient,
  type RawListener,
  subprotocolOf,
  TURNS
} from '@elysia-microservices/websocket/testing'
import type { Net } from './net.ts'
import type { World } from './world.ts'

/** The kinds of messages over a socket of the world, told by the byte behind the length. */
const Kind = { HELLO: 0, WELCOME: 1, DATA: 2, CLOSE: 3 } as const
/** Milliseconds after which an end no longer waits until its peer has closed, too. */
const CLOSING = 3_000

/** Writes and reads messages over a socket. */
class Messages {
  #rest = new Uint8Array(0)
  readonly socket: Socket
  readonly #received: (kind: number, payload: Uint8Array) => void

  constructor(socket: Socket, received: (kind: number, payload: Uint8Array) => void) {
    this.socket = socket
    this.#received = received
  }

  send(kind: number, payload: Uint8Array = new Uint8Array(0)): void {
    const bytes = new Uint8Array(5 + payload.length)
    new DataView(bytes.buffer).setUint32(0, payload.length)
    bytes[4] = kind
    bytes.set(payload, 5)
    this.socket.writeBytes(bytes, bytes.length)
  }

  data(chunk: Uint8Array): void {
    let bytes = chunk
    if (this.#rest.length > 0) {
      bytes = new Uint8Array(this.#rest.length + chunk.length)
      bytes.set(this.#rest)
      bytes.set(chunk, this.#rest.length)
    }
    let at = 0
    while (bytes.length - at >= 5) {
      const end = at + 5 + new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0)
      if (end > bytes.length) break
      this.#received(bytes[at + 4] as number, bytes.slice(at + 5, end))
      at = end
    }
    this.#rest = bytes.slice(at)
  }
}

/** The first message of a client, which asks for an upgrade. */
export function helloOf(protocols: readonly string[]): Uint8Array {
  return new TextEncoder().encode(protocols.join(','))
}

/** A message with data, as it travels over a socket of the world. */
export function messageOf(payload: Uint8Array, kind: number = Kind.DATA): Uint8Array {
  let sent = payload
  const socket = { writeBytes: (bytes: Uint8Array) => (sent = bytes) } as unknown as Socket
  new Messages(socket, () => {}).send(kind, payload)
  return sent
}

/** Bytes of a stranger who asks for an upgrade, and sends a message. */
export function strangerOf(payload: Uint8Array): Uint8Array {
  const hello = messageOf(helloOf([TURNS]), Kind.HELLO)
  const data = messageOf(payload)
  const both = new Uint8Array(hello.length + data.length)
  both.set(hello)
  both.set(data, hello.length)
  return both
}

/** Accepts the sockets of clients for a door. @returns what a socket tells */
function accepting(world: World, door: Door, socket: Socket): SocketListener {
  const entering = {
    url: 'http://world/rsocket',
    headers: new Headers(),
    address: '127.0.0.1',
    port: socket.remotePort
  }
  let listener: RawListener | undefined
  let isClosed = false
  const messages = new Messages(socket, (kind, payload) => {
    if (kind === Kind.HELLO) void enter(new TextDecoder().decode(payload))
    else if (kind === Kind.DATA) listener?.message(payload)
    else if (kind === Kind.CLOSE) {
      messages.send(Kind.CLOSE, payload)
      socket.end()
    }
  })
  const enter = async (offered: string) => {
    const refusal = await door.refusal(entering)
    if (isClosed || refusal !== undefined) {
      if (refusal === undefined) door.leave(entering)
      return socket.end()
    }
    const protocol = subprotocolOf(offered)
    messages.send(Kind.WELCOME, helloOf([protocol ?? '']))
    const raw = {
      get unsent() {
        return socket.unsent
      },
      send(message: Uint8Array) {
        messages.send(Kind.DATA, message)
        return true
      },
      close(code: number) {
        messages.send(Kind.CLOSE, new Uint8Array([code >> 8, code & 255]))
        world.after(CLOSING, () => socket.destroy())
      },
      terminate: () => socket.destroy(),
      pause: () => socket.pause(),
      resume: () => socket.resume()
    }
    listener = door.enter(raw, entering, protocol === TURNS)
  }
  return {
    data: (bytes) => messages.data(bytes),
    drain: () => listener?.drain(),
    eof() {},
    close(error) {
      isClosed = true
      listener?.close(error)
    }
  }
}

/** The class `WebSocket` of a client of a world. */
function webSocketOf(world: World, net: Net, name: string, port: number, offered: readonly string[]) {
  return class {
    binaryType = 'blob'
    protocol = ''
    onopen: ((event: never) => unknown) | null = null
    onmessage: ((event: never) => unknown) | null = null
    onerror: ((event: never) => unknown) | null = null
    onclose: ((event: never) => unknown) | null = null
    #messages: Messages | undefined
    #state: 'connecting' | 'open' | 'closing' | 'closed' = 'connecting'
    #code = 1006
    readonly #attempt = new AbortController()

    constructor(_url: string, protocols: readonly string[]) {
      const accept = (socket: Socket): SocketListener => {
        const messages = new Messages(socket, (kind, payload) => this.#receive(kind, payload))
        this.#messages = messages
        return {
          data: (bytes) => messages.data(bytes),
          drain() {},
          eof() {},
          close: () => this.#closed()
        }
      }
      const hello = helloOf(protocols.filter((protocol) => offered.includes(protocol)))
      net
        .runtime(name)
        .connect({ host: '127.0.0.1', port }, accept, this.#attempt.signal)
        .then(
          () => this.#messages?.send(Kind.HELLO, hello),
          () => this.#closed()
        )
    }

    get bufferedAmount(): number {
      return this.#messages?.socket.unsent ?? 0
    }

    send(bytes: Uint8Array): void {
      if (this.#state === 'connecting') throw new Error('InvalidStateError')
      if (this.#state === 'open') this.#messages?.send(Kind.DATA, bytes)
    }

    close(code = 1005): void {
      if (this.#state === 'closing' || this.#state === 'closed') return
      const { socket } = this.#messages ?? {}
      if (this.#state === 'open') {
        this.#messages?.send(Kind.CLOSE, new Uint8Array([code >> 8, code & 255]))
        world.after(CLOSING, () => socket?.destroy())
      } else if (socket === undefined) this.#attempt.abort(new Error('closed'))
      else socket.destroy()
      this.#state = 'closing'
    }

    #receive(kind: number, payload: Uint8Array): void {
      if (kind === Kind.WELCOME && this.#state === 'connecting') {
        this.#state = 'open'
        this.protocol = new TextDecoder().decode(payload)
        this.onopen?.({} as never)
      } else if (kind === Kind.DATA && this.#state !== 'closed')
        this.onmessage?.({ data: payload.buffer } as never)
      else if (kind === Kind.CLOSE) {
        this.#code = ((payload[0] as number) << 8) | (payload[1] as number)
        if (this.#state === 'open') this.#messages?.send(Kind.CLOSE, payload)
        this.#messages?.socket.end()
      }
    }

    #closed(): void {
      if (this.#state === 'closed') return
      const wasConnecting = this.#state === 'connecting'
      this.#state = 'closed'
      if (wasConnecting) this.onerror?.({} as never)
      this.onclose?.({ code: this.#code, reason: '' } as never)
    }
  }
}

interface Init {
  readonly net: Net
  readonly port: number
  readonly resume: boolean
  /** Whether both ends know the subprotocol in which clients honour leases. */
  readonly lease: boolean
  /** A new door for a service that begins. */
  newDoor(): Door
}

/** A transport over WebSockets in memory, for one end. */
export function overWebSockets(world: World, name: string, init: Init): Transport {
  const { net, port, resume, lease, newDoor } = init
  const offered = lease ? [TURNS, 'rsocket'] : ['rsocket']
  return {
    name: 'websocket',
    traits: {
      wildcards: false,
      hearsNobody: true,
      shares: 'caller',
      headers: true,
      channels: true,
      answerHeaders: true
    },
    server(context): ServerTransport {
      const door = newDoor()
      const server = door.newServer(context)
      let listening: { stop(): void } | undefined
      return {
        ...server,
        async start(dispatcher) {
          await server.start(dispatcher)
          const accept = (socket: Socket) => accepting(world, door, socket)
          listening = await net.runtime(name).listen({ host: '127.0.0.1', port }, accept)
        },
        async stop(options) {
          listening?.stop()
          await server.stop(options)
        }
      }
    },
    client: (context) =>
      newClient(
        { url: 'ws://world/rsocket', resume, WebSocket: webSocketOf(world, net, name, port, offered) },
        context
      )
  }
}
