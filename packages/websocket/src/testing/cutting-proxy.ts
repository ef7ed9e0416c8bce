/** A proxy that can cut connections, or lose what is sent. */
import { once } from 'node:events'
import net from 'node:net'

/** A proxy between a client and its server. */
export class CuttingProxy {
  readonly #server: net.Server
  readonly #pairs = new Set<[net.Socket, net.Socket]>()
  /** The number of connections that were made so far. */
  made = 0
  /** Whether new connections are cut at once. */
  isClosed = false
  /** Whether bytes are dropped without notice. */
  swallows = false

  constructor(port: number) {
    this.#server = net.createServer((near) => {
      this.made++
      if (this.isClosed) return near.destroy()
      const far = net.connect(port, 'localhost')
      const pair: [net.Socket, net.Socket] = [near, far]
      this.#pairs.add(pair)
      for (const [from, to] of [pair, [far, near] as const]) {
        from.on('data', (chunk) => {
          if (!this.swallows) to.write(chunk)
        })
        from.on('error', () => {})
        from.on('close', () => {
          this.#pairs.delete(pair)
          to.destroy()
        })
      }
    })
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `ws://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}/rsocket`
  }

  cut(): void {
    for (const [near, far] of [...this.#pairs]) {
      near.destroy()
      far.destroy()
    }
  }

  close(): void {
    this.isClosed = true
    this.cut()
    this.#server.close()
  }
}
