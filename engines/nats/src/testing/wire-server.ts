/**
 * A server that speaks just enough of NATS's protocol for the real driver: it keeps what a client says, and answers
 * requests as a test wants. `fake-server.ts` is the one for all that stands above the driver.
 */
import type { Socket } from 'node:net'
import { SocketServer } from '@elysia-microservices/test-support'

/** The answer to a request; `undefined`: none. */
export type Answer = (subject: string, body: string) => object | undefined

export class WireServer extends SocketServer {
  /** The lines of the clients, with the payload behind those that have one. Without pings. */
  readonly lines: string[] = []
  answer: Answer = () => undefined
  readonly #info: object

  /** @param info its description */
  constructor(info: object = { max_payload: 1_000, headers: true, version: '2.12.0' }) {
    super()
    this.#info = info
  }

  /** Says a line to all clients. */
  say(line: string): void {
    for (const socket of this.sockets) socket.write(`${line}\r\n`)
  }

  protected serve(socket: Socket): void {
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
