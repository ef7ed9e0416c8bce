/** A server that answers each command as a test says: faults that redis-server has rarely, and clusters in one process. */
import type { Socket } from 'node:net'
import { SocketServer } from '@elysia-microservices/test-support'

/** Returns the answer in Redis's protocol; empty: there is none; `undefined`: the usual one. */
type Answer = (command: readonly string[]) => string | undefined

export const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
export const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.join('')}`
const SUBSCRIBES = /^P?(UN)?SUBSCRIBE$/

export class ScriptedServer extends SocketServer {
  /** The commands that have arrived, in capitals. */
  readonly asked: string[] = []
  /** The connections since the server has started. */
  connections = 0
  answer: Answer = () => undefined

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** How often a command was asked. */
  count(command: string): number {
    return this.asked.filter((one) => one === command).length
  }

  protected serve(socket: Socket): void {
    this.connections++
    let rest = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      rest += chunk
      for (let command = read(); command !== undefined; command = read())
        socket.write(this.#answerTo(command))
    })
    /** Reads the next command; `undefined`: it is not complete. */
    function read(): readonly string[] | undefined {
      const [head, count] = /^\*(\d+)\r\n/.exec(rest) ?? []
      if (head === undefined) return undefined
      const words: string[] = []
      let at = head.length
      for (let n = 0; n < Number(count); n++) {
        const [size, length] = /^\$(\d+)\r\n/.exec(rest.slice(at)) ?? []
        if (size === undefined || rest.length < at + size.length + Number(length) + 2) return undefined
        words.push(rest.slice(at + size.length, at + size.length + Number(length)))
        at += size.length + Number(length) + 2
      }
      rest = rest.slice(at)
      return words
    }
  }

  #answerTo([name = '', ...args]: readonly string[]): string {
    const command = [name.toUpperCase(), ...args]
    this.asked.push(command.join(' '))
    const answer = this.answer(command)
    if (answer !== undefined) return answer
    if (command[0] === 'INFO') return bulk('redis_version:7.4.0\r\nloading:0')
    if (command[0] === 'PING') return '+PONG\r\n'
    if (!SUBSCRIBES.test(command[0] as string)) return '+OK\r\n'
    return args.map((channel) => list(bulk(name.toLowerCase()), bulk(channel), ':1\r\n')).join('')
  }
}
