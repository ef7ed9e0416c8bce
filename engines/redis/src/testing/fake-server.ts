/**
 * A Redis server inside the process, behind the driver's interface: what clients must know of a server, and the faults
 * of one. It answers in later turns of the event loop, in the order of what it receives.
 */
import { unreachable } from '@elysia-microservices/engine'
import { FakeServer, refusedAt } from '@elysia-microservices/engine/testing'
import { type Clock, systemClock } from '@elysia-microservices/transport/kit'
import type { Driver, DriverConnection, DriverListener, DriverStore } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { refusal } from './fake-kept.ts'
import { FakeStreams } from './fake-streams.ts'

const SERVICES = '_elysia:s:'

/** A command: the method, and its first argument, such as a channel, a pattern or a reader. */
export type Asked = keyof DriverStore | 'publish' | 'services' | 'subscribe'

export class FakeRedisServer extends FakeServer<FakeConnection> {
  readonly driver: Driver = { open: (...args) => this.#open(...args) }
  /** The streams and records that the server keeps. */
  readonly streams: FakeStreams
  /** The words with which the server refuses a command; `undefined`: it does not refuse it. */
  refuses: (asked: Asked, about: unknown) => string | undefined = () => undefined
  /** Whether clients take the server for a node of a cluster. */
  isCluster = false
  /** Whether its part of the cluster has moved to another node. */
  hasMoved = false
  /** Whether messages are lost, and no connection is: nodes of a cluster do not reach each other. */
  isMute = false

  constructor({ port = 6379, clock = systemClock }: { readonly port?: number; readonly clock?: Clock } = {}) {
    super(port)
    this.streams = new FakeStreams(clock, (channel, text) => this.deliver(channel, Buffer.from(text)))
  }

  override stop(): void {
    this.streams.isPrepared = false
    super.stop()
  }

  protected override found(): void {
    for (const connection of this.connections) connection.tryAgain()
  }

  /** The channels and globs that are subscribed to, once for each connection. */
  get heard(): readonly string[] {
    return [...this.connections].flatMap(({ heard }) => [...heard.keys()])
  }

  async #open(
    { connection, where }: CheckedOptions,
    _name: string | undefined,
    listener: DriverListener
  ): Promise<DriverConnection> {
    const { port = this.port } = connection
    await new Promise(setImmediate)
    if (!this.leads(port))
      throw unreachable('Redis', where, refusedAt(port), 'start redis-server there, or check options.url')
    const opened = new FakeConnection(this, port, listener)
    this.connections.add(opened)
    return opened
  }

  /** Publishes. @returns the number of receivers */
  deliver(channel: string, bytes: Buffer): number {
    let receivers = 0
    for (const connection of this.connections) receivers += connection.hear(channel, bytes)
    return receivers
  }
}

type Method = (...args: unknown[]) => unknown

class FakeConnection implements DriverConnection {
  readonly store: DriverStore
  readonly port: number
  /** The subscriptions at the server, with the expression of a glob. */
  readonly heard = new Map<string, RegExp | undefined>()
  readonly #server: FakeRedisServer
  readonly #listener: DriverListener
  /** The subscriptions that are restored after a loss, and whether each is a glob. */
  readonly #wanted = new Map<string, boolean>()
  readonly #unanswered = new Set<(error: Error) => void>()
  /** `'dropping'`: it has ended, and its user does not know. `'open'`: it is there again, and its user does not know. */
  #state: 'up' | 'dropping' | 'lost' | 'open' | 'closed' = 'up'
  /** Counts the connections to the server. */
  #epoch = 0
  /** Events are stored over it, so the server is prepared for that when it is there again. */
  #isStoring = false
  /** Commands that were sent while the server was lost. */
  #kept: (() => void)[] = []

  constructor(server: FakeRedisServer, port: number, listener: DriverListener) {
    this.#server = server
    this.port = port
    this.#listener = listener
    const { streams } = server
    const names = Object.getOwnPropertyNames(FakeStreams.prototype) as (keyof DriverStore)[]
    // Calls each method in a later turn.
    const later = names.map((name) => [
      name,
      (...args: unknown[]) =>
        this.#answered(name, args[0], () => (streams[name] as Method).apply(streams, args))
    ])
    this.store = Object.fromEntries(later)
  }

  get isConnected(): boolean {
    return this.#state === 'up' || this.#state === 'dropping'
  }

  get isCluster(): boolean {
    return this.#server.isCluster
  }

  publish(channel: string, payload: string | Buffer): Promise<number> {
    return this.#answered('publish', channel, () =>
      this.#server.deliver(channel, Buffer.from(payload as string))
    )
  }

  async subscribe(channel: string, isGlob = false): Promise<void> {
    if (this.#wanted.has(channel)) return
    this.#wanted.set(channel, isGlob)
    try {
      await this.#answered('subscribe', channel, () => this.#listen(channel, isGlob))
    } catch (error) {
      if (this.isConnected) this.#wanted.delete(channel)
      throw error
    }
  }

  async unsubscribe(channels: readonly string[], globs: readonly string[]): Promise<void> {
    const all = [...channels, ...globs]
    for (const channel of all) this.#wanted.delete(channel)
    if (this.isConnected)
      await this.#answered(undefined, undefined, () => {
        for (const channel of all) this.heard.delete(channel)
      })
  }

  services(): Promise<readonly string[]> {
    return this.#answered('services', undefined, () => [
      ...new Set(this.#server.heard.filter((channel) => channel.startsWith(SERVICES)))
    ])
  }

  async mayMiss(channel: string): Promise<boolean> {
    return this.isCluster && this.#answered(undefined, undefined, () => !this.#server.heard.includes(channel))
  }

  async isLeaving(): Promise<boolean> {
    const hasMoved = await this.#answered(undefined, undefined, () => this.#server.hasMoved)
    if (hasMoved) this.drop()
    return hasMoved
  }

  ping(): Promise<void> {
    return this.#answered(undefined, undefined, () => {})
  }

  renew(): void {
    this.drop()
  }

  close(): void {
    this.#state = 'closed'
    this.#server.forget(this)
    this.#end()
  }

  /** The connection is lost, which is noticed a little later: the listener is told, and commands fail. */
  drop(): void {
    if (this.#state === 'open') return this.#lose()
    if (this.#state !== 'up') return
    this.#state = 'dropping'
    this.#depart()
    this.#server.turn(() => {
      if (this.#state !== 'dropping') return
      this.#state = 'lost'
      this.#listener.lost()
      this.#fail()
      this.tryAgain()
    })
  }

  /** It is lost again, before its user was told that it was there. */
  #lose(): void {
    this.#state = 'lost'
    this.#end()
    this.tryAgain()
  }

  #end(): void {
    this.#depart()
    this.#fail()
  }

  /** Nothing arrives any more, at neither end. */
  #depart(): void {
    this.#epoch++
    this.heard.clear()
  }

  /** Connects again, if the server can be reached. */
  tryAgain(): void {
    if (this.#state !== 'lost' || !this.#server.leads(this.port)) return
    this.#server.later(() => {
      if (this.#state !== 'lost' || !this.#server.leads(this.port)) return
      this.#state = 'open'
      // As drivers do, it sends what it has kept before anybody is told. Commands and subscriptions have sockets of their
      // own, so the answers to those arrive before that, or behind it.
      const subscribe = () => this.#server.later(() => this.#server.later(() => this.#subscribeAgain()))
      const isFirst = this.#epoch % 2 === 0
      if (isFirst) subscribe()
      for (const send of this.#kept.splice(0)) send()
      if (!isFirst) subscribe()
    })
  }

  #subscribeAgain(): void {
    if (this.#state !== 'open') return
    for (const [channel, isGlob] of this.#wanted) {
      const words = this.#server.refuses('subscribe', channel)
      if (words === undefined) this.#listen(channel, isGlob)
      else if (this.#listener.refused(channel, refusal(words))) this.#wanted.delete(channel)
      else return this.#lose()
    }
    if (this.#isStoring) this.#prepare()
    this.#state = 'up'
    this.#listener.restored()
  }

  /** A message. @returns how often this connection receives it */
  hear(channel: string, bytes: Buffer): number {
    let receivers = 0
    for (const [name, glob] of [...this.heard]) {
      if (glob === undefined ? name !== channel : !glob.test(channel)) continue
      receivers++
      if (!this.#server.isMute) this.#arrives(() => this.#listener.message(glob && name, channel, bytes))
    }
    return receivers
  }

  /** Does what comes from the server, unless the connection is lost on the way. */
  #arrives(task: () => void): void {
    const epoch = this.#epoch
    this.#server.over(this, () => {
      if (epoch === this.#epoch) task()
    })
  }

  #listen(channel: string, isGlob: boolean): void {
    this.heard.set(channel, isGlob ? readGlob(channel) : undefined)
  }

  #fail(): void {
    for (const reject of this.#unanswered) reject(new Error('Connection is closed.'))
    this.#unanswered.clear()
    this.#kept = []
  }

  /** Resolves when the server has run the command; rejects if the connection is lost before its answer. */
  #answered<Answer>(asked: Asked | undefined, about: unknown, command: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#state === 'closed') return reject(new Error('Connection is closed.'))
      this.#isStoring ||= asked === 'append' || asked === 'ensure'
      this.#unanswered.add(reject)
      const answer = (settle: () => void) => this.#arrives(() => this.#unanswered.delete(reject) && settle())
      const send = () =>
        this.#arrives(() => {
          try {
            const words = asked && this.#server.refuses(asked, about)
            if (words !== undefined) throw refusal(words)
            const value = command()
            answer(() => resolve(value))
          } catch (error) {
            // The next command of its kind finds the server prepared.
            if (asked === 'append') this.#server.later(() => this.#prepare())
            answer(() => reject(error))
          }
        })
      if (this.#state === 'up' || this.#state === 'open') send()
      // It goes to a socket that has ended, and is refused when that is noticed.
      else if (this.#state === 'dropping') return
      else if (this.#server.leads(this.port)) this.#kept.push(send)
      else setImmediate(() => this.#unanswered.delete(reject) && reject(new Error('Connection is closed.')))
    })
  }

  #prepare(): void {
    this.#server.streams.isPrepared = true
  }
}

/** The expression of a glob as Redis reads it. */
function readGlob(glob: string): RegExp {
  const plain = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const parts = glob.replace(/\\(.)|(\*)|\[\^(.)\]|(.)/gs, (_, escaped, star, not, one) =>
    star ? '[^]*' : not ? `[^${plain(not)}]` : plain(escaped ?? one)
  )
  return new RegExp(`^${parts}$`)
}
