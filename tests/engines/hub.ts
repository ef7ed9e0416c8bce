/**
 * The server of the smallest engine: programs subscribe and publish by lines of JSON, and the hub passes messages on.
 */
import { once } from 'node:events'
import net from 'node:net'
import { routeMatches } from '@elysia-microservices/transport/kit'
import { readLines } from './hub-engine.ts'

interface Subscription {
  readonly socket: net.Socket
  readonly id: number
  readonly address: string
  /** The queue whose members share messages; empty: each subscriber gets all. */
  readonly queue: string
}

/**
 * Passes messages on, on a port of this machine. It stores nothing: a program that is not connected misses messages.
 */
export class Hub {
  readonly port: number
  readonly #sockets = new Set<net.Socket>()
  #server: net.Server | undefined
  #subscriptions: Subscription[] = []

  constructor(port: number) {
    this.port = port
  }

  async start(): Promise<void> {
    this.#server = net.createServer((socket) => this.#greet(socket)).listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Stops at once, with all connections. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Reads nothing until `resume` is called; connections stay. */
  suspend(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  resume(): void {
    for (const socket of this.#sockets) socket.resume()
  }

  #greet(socket: net.Socket): void {
    this.#sockets.add(socket.setNoDelay(true))
    readLines(socket, (line) => {
      try {
        this.#obey(socket, JSON.parse(line))
      } catch {
        socket.destroy()
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#subscriptions = this.#subscriptions.filter((one) => one.socket !== socket)
    })
  }

  #obey(socket: net.Socket, [word, ...rest]: [string, ...string[]]): void {
    if (word === 'ping') socket.write('["pong"]\n')
    else if (word === 'publish') this.#publish(rest as [string, string])
    else if (word === 'unsubscribe')
      this.#subscriptions = this.#subscriptions.filter(
        (one) => one.socket !== socket || one.id !== Number(rest[0])
      )
    else if (word === 'subscribe') {
      const [id, address = '', queue = ''] = rest
      this.#subscriptions.push({ socket, id: Number(id), address, queue })
    }
  }

  /**
   * Sends a message to one member of each queue, and to all subscribers without a queue. A sender with a reply
   * address is told if nobody listens.
   */
  #publish([address, words, reply, headers]: readonly [string, string, string?, object?]): void {
    const queues = new Map<string, Subscription[]>()
    for (const [index, one] of this.#listening(address).entries()) {
      const queue = one.queue === '' ? String(index) : `queue ${one.queue}`
      queues.set(queue, [...(queues.get(queue) ?? []), one])
    }
    for (const members of queues.values()) {
      const { socket, id } = members[Math.floor(Math.random() * members.length)] as Subscription
      socket.write(`${JSON.stringify(['message', id, address, words, reply ?? '', headers])}\n`)
    }
    if (queues.size === 0 && reply)
      for (const { socket, id } of this.#listening(reply))
        socket.write(`${JSON.stringify(['nobody', id, reply])}\n`)
  }

  #listening(address: string): Subscription[] {
    return this.#subscriptions.filter((one) =>
      one.address.endsWith('.') ? address.startsWith(one.address) : routeMatches(one.address, address)
    )
  }
}
