/**
 * A proxy between a client and a server that passes all bytes on, and searches for secrets in what one of them sends.
 */
import { once } from 'node:events'
import net from 'node:net'
import { SECRET } from './atoms.ts'

/** A proxy on a port of its own. */
export class Tap {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  /** The end of the last chunk, so that a text that is split into two chunks is found, too. */
  #tail = ''
  #found: string[] = []

  private constructor(target: number, watched: 'server' | 'client') {
    this.#server = net.createServer((client) => {
      const server = net.connect(target, '127.0.0.1')
      for (const [from, to] of [
        [client, server],
        [server, client]
      ] as const) {
        this.#sockets.add(from)
        from.setNoDelay(true)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.pipe(to)
      }
      const says = watched === 'server' ? server : client
      says.on('data', (chunk: Buffer) => {
        const text = this.#tail + chunk.toString('latin1')
        const at = text.indexOf(SECRET)
        if (at >= 0) this.#found.push(text.slice(Math.max(0, at - 100), at + 50))
        this.#tail = text.slice(-SECRET.length + 1)
      })
    })
  }

  /**
   * @param target the port to which everything is passed on
   * @param watched the side that runs the hostile code
   */
  static async before(target: number, watched: 'server' | 'client'): Promise<Tap> {
    const tap = new Tap(target, watched)
    tap.#server.listen(0, '127.0.0.1')
    await once(tap.#server, 'listening')
    return tap
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** The places where a secret was sent since the last call of this function. */
  found(): string[] {
    return this.#found.splice(0)
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }
}
