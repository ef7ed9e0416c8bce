/** A TCP proxy whose target can change, like a DNS name or a proxy after a failover. */
import { once } from 'node:events'
import net from 'node:net'

export class Forwarder {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  #target: URL

  private constructor(server: net.Server, target: string) {
    this.#server = server
    this.#target = new URL(target)
    server.on('connection', (socket) => {
      const other = net.connect(Number(this.#target.port), this.#target.hostname)
      socket.pipe(other).pipe(socket)
      for (const each of [socket, other]) {
        this.#sockets.add(each)
        each
          .on('error', () => {})
          .on('close', () => {
            this.#sockets.delete(each)
            socket.destroy()
            other.destroy()
          })
      }
    })
  }

  /** @param target the address of a database */
  static async to(target: string): Promise<Forwarder> {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Forwarder(server, target)
  }

  /** The address under which the proxy reaches the target database. */
  get url(): string {
    const url = new URL(this.#target)
    url.port = String((this.#server.address() as net.AddressInfo).port)
    return url.href
  }

  /** Cuts all connections; new connections lead to another database. */
  turn(target: string): void {
    this.#target = new URL(target)
    for (const socket of this.#sockets) socket.destroy()
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
