/** Stands between a client and a server, passes all bytes on, and keeps the server's. */
import { once } from 'node:events'
import net from 'node:net'

/** Listens on a port of its own. */
export class Tap {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  #seen = ''

  private constructor(target: number) {
    this.#server = net.createServer((client) => {
      const server = net.connect(target, '127.0.0.1')
      for (const [from, to] of [
        [client, server],
        [server, client]
      ] as const) {
        this.#sockets.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.on('data', (chunk: Buffer) => to.write(chunk))
      }
      server.on('data', (chunk: Buffer) => {
        this.#seen += chunk.toString('latin1')
      })
    })
  }

  /** @param target the port to pass everything on to */
  static async before(target: number): Promise<Tap> {
    const tap = new Tap(target)
    tap.#server.listen(0, '127.0.0.1')
    await once(tap.#server, 'listening')
    return tap
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** What the server has sent since the last time. */
  taken(): string {
    const seen = this.#seen
    this.#seen = ''
    return seen
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}
