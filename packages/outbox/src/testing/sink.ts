/** An engine in another process, for relays that are killed: lines over TCP, each acknowledged when it is stored. */
import { once } from 'node:events'
import net from 'node:net'
import type { Published, Publisher, PublishOptions } from '../publisher.ts'

/** An event as it travels. */
export interface SunkEvent {
  readonly id: string
  readonly pattern: string
  readonly data: unknown
  readonly key?: string
}

function onLines(socket: net.Socket, take: (line: string) => void): void {
  let rest = ''
  // The other end is killed, or has stopped.
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) take(line)
  })
}

/** Stores everything in the order in which it comes, what comes again too. */
export class Sink {
  readonly events: SunkEvent[] = []
  readonly port: number
  readonly #server: net.Server

  private constructor(server: net.Server) {
    this.#server = server
    this.port = (server.address() as net.AddressInfo).port
    server.on('connection', (socket) => {
      onLines(socket, (line) => {
        const event = JSON.parse(line) as SunkEvent
        this.events.push(event)
        socket.write(`${JSON.stringify(event.id)}\n`)
      })
    })
  }

  static async start(): Promise<Sink> {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Sink(server)
  }

  stop(): void {
    this.#server.close()
  }
}

/** Publishes to a sink. @param sent is called when a line is on its way, before it is acknowledged */
export function sinkClient(port: number, sent: () => void = () => {}): Publisher & { close(): void } {
  const socket = net.connect(port, '127.0.0.1')
  const waiting = new Map<string, (published: Published) => void>()
  onLines(socket, (line) => {
    const id = JSON.parse(line) as string
    waiting.get(id)?.({ id, position: '', duplicate: false })
    waiting.delete(id)
  })
  return {
    publish(pattern: string, data: unknown, { id = '', key }: PublishOptions = {}) {
      return new Promise<Published>((resolve) => {
        waiting.set(id, resolve)
        socket.write(`${JSON.stringify({ id, pattern, data, key })}\n`, sent)
      })
    },
    close: () => socket.destroy()
  }
}
