/** Sockets in memory, as a `SocketRuntime`: bytes arrive in pieces and late, and connections are cut, frozen and refused. */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import { Lane } from './lane.ts'
import type { World } from './world.ts'

type AcceptSocket = (socket: Socket) => SocketListener

interface Address {
  readonly host: string
  readonly port: number
  readonly path?: string | undefined
}

/** Bytes that the systems of both ends keep before a socket counts them as unsent. */
const KERNEL = 64 * 1024

const failure = (code: string, what: string) => Object.assign(new Error(`${what} ${code}`), { code })

/** All sockets of a world. */
export class Net {
  readonly #world: World
  /** Most milliseconds that bytes need from one end to the other. */
  delay = 1
  readonly #listening = new Map<number, AcceptSocket>()
  readonly #open = new Set<End>()
  #port = 10_000

  constructor(world: World) {
    this.#world = world
  }

  /** The ends of sockets that are not closed. */
  get open(): number {
    return this.#open.size
  }

  get listening(): number {
    return this.#listening.size
  }

  /** The sockets whose dialling end was opened as the given client. */
  readonly runtime = (name: string) => ({
    listen: async ({ host, port }: Address, accept: AcceptSocket) => {
      const own = port === 0 ? ++this.#port : port
      if (this.#listening.has(own)) throw failure('EADDRINUSE', 'listen')
      this.#listening.set(own, accept)
      return { address: { host, port: own }, stop: () => void this.#listening.delete(own) }
    },
    connect: ({ port }: Address, accept: AcceptSocket, signal: AbortSignal) =>
      this.#connect(port, accept, signal, name)
  })

  #connect(port: number, accept: AcceptSocket, signal: AbortSignal, name: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const lane = new Lane(this.#world)
      const settle = (act: () => void) => {
        lane.close()
        signal.removeEventListener('abort', abort)
        act()
      }
      const abort = () => settle(() => reject(signal.reason))
      signal.addEventListener('abort', abort, { once: true })
      lane.add(() => {
        const service = this.#listening.get(port)
        if (service === undefined) return settle(() => reject(failure('ECONNREFUSED', 'connect')))
        settle(() => {
          const [far, near] = this.#pair(name)
          far.attach(service(far))
          near.attach(accept(near))
          resolve()
        })
      }, this.#time())
    })
  }

  /** A stranger's socket, which is connected at once. */
  stranger(port: number, listener: SocketListener): Socket | undefined {
    const service = this.#listening.get(port)
    if (service === undefined) return undefined
    const [far, near] = this.#pair('stranger')
    far.attach(service(far))
    near.attach(listener)
    return near
  }

  #pair(name: string): [End, End] {
    const far = new End(this.#world, this, name, 1)
    const near = new End(this.#world, this, name, 2)
    far.peer = near
    near.peer = far
    this.#open.add(far).add(near)
    return [far, near]
  }

  #time(): number {
    return this.#world.random.next() * this.delay
  }

  timeOf(): number {
    return this.#time()
  }

  forget(end: End): void {
    this.#open.delete(end)
  }

  /** Cuts the connections of a client: both ends hear it at once, and bytes on their way are lost. */
  cut(name: string): void {
    for (const end of [...this.#open]) if (end.name === name) end.reset(failure('ECONNRESET', 'read'))
  }

  /** For a time nothing moves on the connections of a client, and nobody is told. */
  freeze(name: string, milliseconds: number): void {
    for (const end of this.#open) if (end.name === name) end.freeze(this.#world.now + milliseconds)
  }
}

/** One end of a socket. */
class End implements Socket {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort: number
  readonly name: string
  peer: End | undefined
  readonly #world: World
  readonly #net: Net
  /** The deliveries to this end. */
  readonly #lane: Lane
  #listener: SocketListener | undefined
  /** Bytes on their way to this end that its user has not been given. */
  #arriving: Uint8Array[] = []
  #waiting = 0
  #isPaused = false
  #hasAsked = false
  #frozenUntil = 0
  /** Whether this end has said that it writes no more, and whether it has heard that of its peer. */
  #hasEnded = false
  #peerHasEnded = false
  #endIsOnItsWay = false
  #isClosed = false

  constructor(world: World, net: Net, name: string, port: number) {
    this.#world = world
    this.#net = net
    this.name = name
    this.remotePort = port
    this.#lane = new Lane(world)
  }

  attach(listener: SocketListener): void {
    this.#listener = listener
  }

  get unsent(): number {
    const peer = this.peer as End
    return this.#isClosed ? 0 : Math.max(0, peer.#waiting - KERNEL)
  }

  write(text: string): void {
    this.#send(new TextEncoder().encode(text))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    this.#send(Uint8Array.prototype.slice.call(bytes, 0, length))
  }

  #send(bytes: Uint8Array): void {
    if (this.#isClosed || this.#hasEnded || bytes.length === 0) return
    const peer = this.peer as End
    if (peer.#isClosed) return
    peer.#arriving.push(bytes)
    peer.#waiting += bytes.length
    peer.#ask(this.#net.timeOf())
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#ask(0)
  }

  end(): void {
    if (this.#isClosed || this.#hasEnded) return
    this.#hasEnded = true
    const peer = this.peer as End
    peer.#endIsOnItsWay = true
    peer.#ask(this.#net.timeOf())
    this.#closeIfBothEnded()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#close(undefined)
    const peer = this.peer as End
    // Bytes that were sent before still arrive.
    peer.#endIsOnItsWay = true
    peer.#ask(this.#net.timeOf())
  }

  /** Both directions are lost. */
  reset(error: Error): void {
    this.#close(error)
  }

  freeze(until: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, until)
  }

  #ask(delay: number): void {
    if (this.#hasAsked || this.#isClosed) return
    this.#hasAsked = true
    this.#lane.add(() => this.#deliver(), delay)
  }

  #deliver(): void {
    this.#hasAsked = false
    if (this.#isClosed || this.#isPaused) return
    if (this.#frozenUntil > this.#world.now) return this.#ask(this.#frozenUntil - this.#world.now + 0.1)
    if (this.#arriving.length > 0) {
      const chunk = this.#nextChunk()
      this.#listener?.data(chunk)
      const peer = this.peer as End
      if (!peer.#isClosed && this.#waiting + chunk.length > KERNEL)
        peer.#lane.add(() => {
          if (!peer.#isClosed) peer.#listener?.drain()
        })
      return this.#more()
    }
    if (this.#endIsOnItsWay && !this.#peerHasEnded) {
      this.#peerHasEnded = true
      this.#listener?.eof()
      // As sockets of `node:net` do, this end says in turn that it writes no more.
      this.end()
      this.#closeIfBothEnded()
    }
  }

  #more(): void {
    if (this.#arriving.length > 0 || (this.#endIsOnItsWay && !this.#peerHasEnded)) this.#ask(0)
  }

  /** The bytes that have arrived, or a part of them: packets are joined and split on their way. */
  #nextChunk(): Uint8Array {
    const { random } = this.#world
    let chunk = this.#arriving.shift() as Uint8Array
    while (this.#arriving.length > 0 && chunk.length < KERNEL && random.chance(0.5))
      chunk = joined(chunk, this.#arriving.shift() as Uint8Array)
    if (chunk.length > 1 && random.chance(0.1)) {
      const at = random.between(1, chunk.length - 1)
      this.#arriving.unshift(chunk.slice(at))
      chunk = chunk.slice(0, at)
    }
    this.#waiting -= chunk.length
    return chunk
  }

  #closeIfBothEnded(): void {
    if (this.#hasEnded && this.#peerHasEnded) this.#close(undefined)
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#arriving = []
    this.#waiting = 0
    this.#net.forget(this)
    this.#world.after(0, () => {
      this.#lane.close()
      this.#listener?.close(error)
    })
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
