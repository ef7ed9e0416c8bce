/**
 * A server that speaks just enough of NATS's protocol for the real driver: it keeps what a client says, and answers
 * requests as a test wants. `fake-server.ts` is the one for all that stands above the driver.
 */
import { createServer, type Server, type Socket } from 'node:net'

/** The answer to a request; `undefined`: none. */
export type Answer = (subject: string, body: string) => object | undefined

export class WireServer {
  /** The lines of the clients, with the payload behind those that have one. Without pings. */
  readonly lines: string[] = []
  answer: Answer = () => undefined
  port = 0
  readonly #info: object
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  /** @param info its description */
  constructor(info: object = { max_payload: 1_000, headers: true, version: '2.12.0' }) {
    this.#info = info
    this.#server = createServer((socket) => this.#greet(socket))
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve))
    this.port = (this.#server.address() as { port: number }).port
    return this
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.cut()
    await closed
  }

  /** Says a line to all clients. */
  say(line: string): void {
    for (const socket of this.#sockets) socket.write(`${line}\r\n`)
  }

  #greet(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let unread = ''
    socket.on('data', (chunk) => {
      unread += chunk.toString('latin1')
      for (;;) {
        const end = unread.indexOf('\r\n')
        if (end < 0) return
        const line = unread.slice(0, end)
        const size = /^H?PUB /.test(line) ? Number(line.slice(line.lastIndexOf(' ') + 1)) + 2 : 0
        if (unread.length < end + 2 + size) return
        const payload = unread.slice(end + 2, end + size)
        unread = unread.slice(end + 2 + size)
        this.#hear(socket, line, payload)
      }
    })
    socket.write(`INFO ${JSON.stringify({ server_id: 'wire', proto: 1, ...this.#info })}\r\n`)
  }

  #hear(socket: Socket, line: string, payload: string): void {
    if (line === 'PING') return void socket.write('PONG\r\n')
    this.lines.push(payload === '' ? line : `${line} ${payload}`)
    const [, subject = '', reply] = /^PUB (\S+) (\S+) \d+$/.exec(line) ?? []
    const said = reply === undefined ? undefined : this.answer(subject, payload)
    if (said === undefined) return
    const text = JSON.stringify(said)
    socket.write(`MSG ${reply} ${this.#inbox()} ${text.length}\r\n${text}\r\n`)
  }

  /** The number of the one subscription on which the driver hears all answers. */
  #inbox(): string {
    return /\d+$/.exec(this.lines.findLast((line) => /^SUB \S+\.\* /.test(line)) ?? '')?.[0] ?? ''
  }
}
