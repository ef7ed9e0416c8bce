/**
 * A broker in another process, for relays that are killed. It receives lines over TCP, and acknowledges each line
 * when it is stored.
 */
import { once } from 'node:events'
import net from 'node:net'
import type { Publisher, RelayPublished, RelayPublishOptions } from '../publisher.ts'

/** An event in the form in which it is sent. */
export interface SunkEvent {
  readonly id: string
  readonly pattern: string
  readonly data: unknown
  readonly key?: string
}

function onLines(socket: net.Socket, take: (line: string) => void): void {
  let rest = ''
  // The other end was killed or has stopped.
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) take(line)
  })
}

/** Stores all events in the order in which they arrive, including duplicates. */
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

/** A client that publishes to a sink. @param sent called when a line has been sent and is not acknowledged yet */
export function sinkClient(port: number, sent: () => void = () => {}): Publisher & { close(): void } {
  const socket = net.connect(port, '127.0.0.1')
  const waiting = new Map<string, (published: RelayPublished) => void>()
  onLines(socket, (line) => {
    const id = JSON.parse(line) as string
    waiting.get(id)?.({ id, position: '', duplicate: false })
    waiting.delete(id)
  })
  return {
    publish(pattern: string, data: unknown, { id = '', key }: RelayPublishOptions = {}) {
      return new Promise<RelayPublished>((resolve) => {
        waiting.set(id, resolve)
        socket.write(`${JSON.stringify({ id, pattern, data, key })}\n`, sent)
      })
    },
    close: () => socket.destroy()
  }
}
