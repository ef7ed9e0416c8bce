/** A link between client and server that can be slowed down, suspended, partitioned, or cut after any byte. */
import { once } from 'node:events'
import net from 'node:net'

/** Where a connection is cut: after a number of bytes that one side has sent. */
export interface Cut {
  readonly of: 'client' | 'server'
  readonly after: number
  readonly how: 'fin' | 'rst'
}

/** Passes bytes on from a port of its own to another port. */
export class Link {
  /** The milliseconds by which a chunk is delayed when it arrives. */
  delay: () => number = () => 0
  /** Where the next connections are cut, one entry for each connection; later connections are not cut. */
  cuts: (Cut | undefined)[] = []
  /** A text of a client. The connection on which it comes next is cut when the server answers; the answer is lost. */
  losesAnswerTo: string | undefined
  /** Bytes that each side has sent so far, over all connections. */
  readonly said = { client: 0, server: 0 }
  /** The number of connections that were cut. */
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

  /** @param port the port of the link. Default: any free port */
  static async start(target: number, port = 0): Promise<Link> {
    const link = new Link(target)
    link.#server.listen(port, '127.0.0.1')
    await once(link.#server, 'listening')
    return link
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** Holds all bytes back, in both directions, also of new connections. Neither side is told. */
  hold(): void {
    this.#held ??= new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** Sends the bytes that were held back. */
  release(): void {
    this.#release?.()
    this.#held = undefined
  }

  /** Cuts every connection; bytes that were held back are lost. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.release()
  }

  /** Ends the link, unless it was ended before. */
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
    client.on('data', (chunk) => {
      if (this.losesAnswerTo === undefined || !(chunk as Buffer).includes(this.losesAnswerTo)) return
      this.losesAnswerTo = undefined
      server.prependListener('data', () => cutOff('rst'))
    })
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
