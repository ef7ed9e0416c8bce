/** A link between client and server that can be slow, stall, be partitioned and be cut, by the byte. */
import { once } from 'node:events'
import net from 'node:net'

/** Where a connection is cut: after so many bytes of what one end says. */
export interface Cut {
  readonly of: 'client' | 'server'
  readonly after: number
  readonly how: 'fin' | 'rst'
}

/** Passes bytes on between a port of its own and another. */
export class Link {
  /** Milliseconds a chunk takes, as it comes. */
  delay: () => number = () => 0
  /** Where the next connections are cut, one each; those behind are not. */
  cuts: (Cut | undefined)[] = []
  /** Bytes that each end has said so far, over all connections. */
  readonly said = { client: 0, server: 0 }
  /** Connections that were cut. */
  cut = 0
  readonly #server: net.Server
  readonly #target: number
  readonly #sockets = new Set<net.Socket>()
  #release: (() => void) | undefined
  #held: Promise<void> | undefined

  private constructor(target: number) {
    this.#target = target
    this.#server = net.createServer({ noDelay: true }, (socket) => this.#join(socket))
  }

  /** @param port its own. Default: any that is free */
  static async start(target: number, port = 0): Promise<Link> {
    const link = new Link(target)
    link.#server.listen(port, '127.0.0.1')
    await once(link.#server, 'listening')
    return link
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** Holds all bytes back, in both directions and of new connections too. Nobody is told. */
  hold(): void {
    this.#held ??= new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** Lets the bytes go that were held back. */
  release(): void {
    this.#release?.()
    this.#held = undefined
  }

  /** Cuts every connection; what was held back is lost. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.release()
  }

  /** Ends it, if it was not. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cutAll()
    await closed
  }

  #join(client: net.Socket): void {
    const cut = this.cuts.shift()
    const server = net.connect({ host: '127.0.0.1', port: this.#target, noDelay: true })
    const end = () => {
      client.destroy()
      server.destroy()
    }
    const cutOff = (how: 'fin' | 'rst') => {
      if (client.destroyed) return
      this.cut++
      if (how === 'fin') return end()
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    this.#pass('client', client, server, cut?.of === 'client' ? cut : undefined, cutOff)
    this.#pass('server', server, client, cut?.of === 'server' ? cut : undefined, cutOff)
  }

  #pass(
    from: 'client' | 'server',
    source: net.Socket,
    target: net.Socket,
    cut: Cut | undefined,
    cutOff: (how: 'fin' | 'rst') => void
  ): void {
    let left = cut?.after ?? Number.POSITIVE_INFINITY
    let before = Promise.resolve()
    source.on('data', (chunk) => {
      const bytes = chunk as Buffer
      this.said[from] += bytes.length
      const passed = bytes.subarray(0, Math.min(left, bytes.length))
      left -= bytes.length
      before = before.then(async () => {
        const delay = this.delay()
        if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
        while (this.#held !== undefined) await this.#held
        if (target.destroyed) return
        target.write(passed, () => {
          if (left <= 0 && cut !== undefined) cutOff(cut.how)
        })
      })
    })
  }
}
