/** Plain sockets that do what no well-behaved client does. */
import { once } from 'node:events'
import net from 'node:net'

/** The number of sockets that are opened at the same time. */
const AT_ONCE = 100

/** One connection. It reads nothing until `read` is called. */
export class RawPeer {
  readonly socket: net.Socket
  closed = false
  /** The bytes that were read. */
  received = Buffer.alloc(0)
  #drip: ReturnType<typeof setInterval> | undefined

  private constructor(socket: net.Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      clearInterval(this.#drip)
    })
  }

  /** @param localAddress the address to connect from: each address has ports of its own */
  static async connect(port: number, localAddress = '127.0.0.1'): Promise<RawPeer> {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true, localAddress })
    const peer = new RawPeer(socket)
    await once(socket, 'connect')
    socket.pause()
    return peer
  }

  /** Opens many connections, some at a time. */
  static async connectMany(port: number, count: number): Promise<RawPeer[]> {
    const peers: RawPeer[] = []
    while (peers.length < count) {
      const some = Math.min(AT_ONCE, count - peers.length)
      peers.push(...(await Promise.all(Array.from({ length: some }, () => RawPeer.connect(port)))))
    }
    return peers
  }

  /** Writes bytes, without waiting until the system has them. */
  send(bytes: Uint8Array): void {
    if (!this.closed) this.socket.write(bytes)
  }

  /** Writes bytes, and waits until the system has all of them or the connection is closed. */
  async sent(bytes: Uint8Array): Promise<void> {
    if (this.closed) return
    let written!: () => void
    const done = new Promise<void>((resolve) => {
      written = resolve
    })
    this.socket.once('close', written)
    this.socket.write(bytes, written)
    await done
    this.socket.off('close', written)
  }

  /** Sends one byte at each interval, repeating the given bytes for ever. */
  drip(bytes: Uint8Array, interval: number): void {
    let at = 0
    this.#drip = setInterval(
      () => this.send(bytes.subarray(at % bytes.length, (at++ % bytes.length) + 1)),
      interval
    )
  }

  /** Begins to read, and so notices when the connection is closed. */
  read(): void {
    this.socket.on('data', (chunk) => {
      if (this.received.length < 64 * 1024) this.received = Buffer.concat([this.received, chunk as Buffer])
    })
    this.socket.resume()
  }

  /** Closes the connection with FIN or with RST. */
  close(how: 'fin' | 'rst' = 'fin'): void {
    clearInterval(this.#drip)
    if (how === 'rst') this.socket.resetAndDestroy()
    else this.socket.destroy()
  }
}
