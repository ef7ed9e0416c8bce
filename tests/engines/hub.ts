/**
 * The server of the smallest engine: programs subscribe and publish by lines of JSON, and the hub passes messages on.
 */
import { once } from 'node:events'
import net from 'node:net'
import { newSecret } from '@elysia-microservices/engine'
import { detourTo, type RunningEngine } from '@elysia-microservices/engine-tests'
import { routeMatches, type Transport } from '@elysia-microservices/transport/kit'
import { readLines } from './hub-engine.ts'
import { HubEvents, type Member } from './hub-events.ts'
import type { NewEvent, Wanted } from './hub-store.ts'

interface Subscription {
  readonly socket: net.Socket
  readonly id: number
  readonly address: string
  /** The queue whose members share messages; empty: each subscriber gets all. */
  readonly queue: string
}

/**
 * Passes messages on, on a port of this machine: a program that is not connected misses them. Durable events are stored,
 * in the memory of this process.
 */
export class Hub {
  #port: number
  readonly #sockets = new Set<net.Socket>()
  #server: net.Server | undefined
  #subscriptions: Subscription[] = []
  readonly #events = new HubEvents()
  /** The consumers of durable events, by the numbers that their connections have given them. */
  readonly #members = new Map<net.Socket, Map<number, Member>>()

  /** @param port default: one that the system chooses at the first start */
  constructor(port = 0) {
    this.#port = port
  }

  get port(): number {
    return this.#port
  }

  async start(): Promise<void> {
    this.#server = net.createServer((socket) => this.#greet(socket)).listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as net.AddressInfo).port
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
      for (const member of this.#members.get(socket)?.values() ?? []) this.#events.lost(member)
      this.#members.delete(socket)
    })
  }

  #obey(socket: net.Socket, [word, ...rest]: [string, ...string[]]): void {
    if (word === 'publish') this.#publish(rest as [string, string])
    else if (word === 'emit') this.#emit(rest as [string, string])
    else if (word === 'unsubscribe')
      this.#subscriptions = this.#subscriptions.filter(
        (one) => one.socket !== socket || one.id !== Number(rest[0])
      )
    else if (word === 'subscribe') {
      const [id, address = '', queue = ''] = rest
      this.#subscriptions.push({ socket, id: Number(id), address, queue })
    } else
      try {
        socket.write(`${JSON.stringify(['answer', this.#answer(socket, word, rest)])}\n`)
      } catch (error) {
        socket.write(`${JSON.stringify(['error', (error as Error).message])}\n`)
      }
  }

  /** The answer to a command. */
  #answer(socket: net.Socket, word: string, rest: readonly unknown[]): unknown {
    const events = this.#events
    if (word === 'ping') return null
    if (word === 'append') {
      const [event] = rest as [NewEvent]
      const answer = events.append(event)
      if (!answer[1]) this.#publish([event.address, event.packet, '', event.headers])
      return answer
    }
    if (word === 'letters') return events.letters(...given<[string]>(rest))
    if (word === 'forget') return events.forget(...given<[string, number, boolean]>(rest))
    if (word === 'pause') return events.pause(...given<[string, boolean]>(rest))
    if (word === 'has') return events.has(...given<[string]>(rest))
    const [number, ...more] = given<[number, ...unknown[]]>(rest)
    if (word === 'join') {
      const [wanted, room] = given<[Wanted, number]>(more)
      return events.join(this.#newMember(socket, number, room), wanted)
    }
    const member = this.#members.get(socket)?.get(number)
    if (member === undefined) throw new Error(`There is no consumer ${number}`)
    if (word === 'lag') return events.lag(member)
    if (word === 'done') return events.done(member, ...given<[number]>(more))
    if (word === 'again') return events.again(member, ...given<[number, number, number]>(more))
    if (word === 'bury') return events.bury(member, ...given<[number, string, number]>(more))
    if (word === 'leave') return events.leave(member)
    throw new Error(`The hub does not know '${word}'`)
  }

  #newMember(socket: net.Socket, number: number, room: number): Member {
    const member: Member = {
      room,
      tell: (word, value) => socket.write(`${JSON.stringify([word, number, value])}\n`)
    }
    const members = this.#members.get(socket) ?? new Map<number, Member>()
    this.#members.set(socket, members.set(number, member))
    return member
  }

  /** An event that is not published by a store: groups get it, too, and it is named by the hub. */
  #emit([address, packet, reply = '', headers]: readonly [
    string,
    string,
    string?,
    NewEvent['headers']?
  ]): void {
    const isStored = this.#events.takes(address)
    if (isStored) this.#events.append({ address, packet, headers, id: newSecret(), publishedAt: Date.now() })
    this.#publish([address, packet, isStored ? '' : reply, headers])
  }

  /**
   * Sends a message to one member of each queue, and to all subscribers without a queue. A sender with a reply
   * address is told if nobody listens.
   */
  #publish([address, words, reply, headers]: readonly [
    string,
    string,
    string?,
    (object | undefined)?
  ]): void {
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

/** The parts of a command, which our own carrier has written. */
function given<Parts extends unknown[]>(parts: readonly unknown[]): Parts {
  return parts as Parts
}

/** Starts a hub for the suite. @param transport makes the transport at a port */
export async function startHub(transport: (port: number) => Transport): Promise<RunningEngine> {
  const server = new Hub()
  await server.start()
  return {
    port: server.port,
    transport: ({ port = server.port } = {}) => transport(port),
    stop: () => server.stop(),
    start: () => server.start(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    detour: (port) => detourTo(server.port, port),
    close: () => server.stop()
  }
}
