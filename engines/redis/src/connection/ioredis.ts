/**
 * The driver over ioredis: a connection for commands, one for subscriptions, and one for storing events that replicas
 * must confirm. No other file knows how ioredis connects, loses its server and finds it again.
 */

import { repeat, unanswered, unreachable } from '@elysia-microservices/engine'
import {
  backoffDelay,
  OptionError,
  UnauthenticatedError,
  unlessAborted
} from '@elysia-microservices/transport/kit'
import { Redis, type RedisOptions } from 'ioredis'
import type { Driver, DriverConnection, DriverListener } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { ALL_SERVICES } from '../words/channels.ts'
import { Cluster, type Node } from './cluster.ts'
import { IoredisStore } from './ioredis-store.ts'

/** Milliseconds between PING commands; a server that does not answer one before the next counts as lost. */
const PING_EVERY = 10_000
/** Milliseconds between checks whether the slot has moved to another node of the cluster. */
const LOOK_EVERY = 1_000
const RECONNECT_AFTER = { minDelay: 50, maxDelay: 2_000 }

/**
 * Options that users may not change. With `enableOfflineQueue: false`, the driver throws where nobody can catch the
 * error when the connection is lost, and commands in a pipeline never settle. With `maxRetriesPerRequest: null`,
 * commands under way never settle. Subscriptions are restored by this file, because the listener is told only when
 * they are restored.
 */
const FIXED: RedisOptions = {
  lazyConnect: true,
  enableOfflineQueue: true,
  enableAutoPipelining: true,
  // Commands that carry many events are sent outside of pipelines: a pipeline answers no command before all are done,
  // and only one pipeline is under way at a time.
  autoPipeliningIgnoredCommands: ['evalsha', 'xreadgroup', 'exists', 'xack'],
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  // The server at this address has become a replica: the address may lead to the new master by now.
  reconnectOnError: ({ message }) => message.includes('READONLY'),
  protocol: 2
}

/** Options of the connections besides the address. */
interface Kind {
  /** The nodes of a cluster, in place of an address. */
  readonly nodes: readonly Node[] | undefined
  /**
   * Whether events are stored over a separate connection: one that waits for replicas does nothing else in between.
   */
  readonly storesApart: boolean
}

export const ioredis: Driver = {
  open({ connection, where, cluster, durable }: CheckedOptions, name, listener) {
    const options = { ...(name !== undefined && { connectionName: name }), ...connection }
    return Connections.open(options, where, listener, { nodes: cluster, storesApart: durable.replicas > 1 })
  }
}

/** All connections of one client or service to its server. */
class Connections implements DriverConnection {
  readonly store: IoredisStore
  readonly #commands: Redis
  readonly #subscriber: Redis
  readonly #all: readonly Redis[]
  readonly #listener: DriverListener
  readonly #cluster: Cluster | undefined
  readonly #channels = new Set<string>()
  readonly #globs = new Set<string>()
  #isConnected = false
  #isClosed = false
  #stopPinging: () => void = () => {}
  #lastError: Error | undefined

  private constructor(options: RedisOptions, listener: DriverListener, { nodes, storesApart }: Kind) {
    this.#listener = listener
    this.#cluster = nodes && new Cluster(nodes, options)
    const retryStrategy = (attempt: number): number | null =>
      this.#stopPinging === none ? null : backoffDelay(RECONNECT_AFTER, attempt - 1, Math.random())
    this.#stopPinging = none
    const found = this.#cluster && { Connector: this.#cluster.Connector }
    // Sentinels have a setting of their own for how long they are looked for.
    const strategies = { retryStrategy, sentinelRetryStrategy: retryStrategy }
    const all = { ...options, ...FIXED, ...found, ...strategies } as Omit<RedisOptions, 'replyMapping'>
    const commands = new Redis(all)
    this.#commands = commands
    this.#subscriber = new Redis(all)
    const storing = storesApart ? new Redis(all) : commands
    this.#all = [...new Set([commands, this.#subscriber, storing])]
    this.store = new IoredisStore({ commands, storing, isCluster: this.isCluster })
    for (const one of this.#all) {
      one.on('error', (error: Error) => {
        this.#lastError = error
      })
      one.on('connect', () => this.#mustAnswer(one, options.connectTimeout))
      one.on('close', () => this.#lost())
      one.on('ready', () => void this.#ready())
    }
    this.#subscriber.on('messageBuffer', (channel: Buffer, bytes: Buffer) =>
      listener.message(undefined, channel.toString(), bytes)
    )
    this.#subscriber.on('pmessageBuffer', (glob: Buffer | string, channel: Buffer, bytes: Buffer) =>
      listener.message(String(glob), channel.toString(), bytes)
    )
  }

  /**
   * Connects.
   * @throws {ConnectionError} the server cannot be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   * @throws {OptionError} the server is a node of a cluster without the option `cluster`, or the reverse
   */
  static async open(
    options: RedisOptions,
    where: string,
    listener: DriverListener,
    kind: Kind
  ): Promise<Connections> {
    const opened = new Connections(options, listener, kind)
    try {
      await unlessAborted(Promise.all(opened.#all.map((one) => one.connect())), listener.signal)
      if (kind.nodes === undefined) await opened.#refuseCluster(where)
    } catch (error) {
      opened.#isClosed = true
      for (const one of opened.#all) cut(one)
      if (listener.signal?.aborted === true || error instanceof OptionError) throw error
      // The server is no node of a cluster.
      if (opened.#lastError instanceof OptionError) throw opened.#lastError
      throw connectFailure(where, opened.#lastError ?? (error as Error))
    }
    opened.#isConnected = true
    const stops = [opened.#ping(), opened.#follow()]
    opened.#stopPinging = () => {
      for (const stop of stops) stop()
    }
    return opened
  }

  /**
   * Refuses a node of a cluster. Such a node does not count the subscribers at other nodes, and has only part of the
   * keys. @throws {OptionError} the server is such a node
   */
  async #refuseCluster(where: string): Promise<void> {
    // A user without the right to INFO gets an error later, when a command is refused.
    const about = await this.#commands.info('server').catch(() => '')
    if (/^(redis|server)_mode:cluster/m.test(String(about)))
      throw new OptionError(
        'options',
        `Redis at ${where} is a node of a cluster, and such a node does not count the subscribers at other nodes; set options.cluster, and give one or several of its nodes as options.url`
      )
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get isCluster(): boolean {
    return this.#cluster !== undefined
  }

  publish(channel: string, payload: string | Buffer): Promise<number> {
    return this.#commands.publish(channel, payload)
  }

  async services(): Promise<string[]> {
    return (await this.#commands.pubsub('CHANNELS', ALL_SERVICES)).map(String)
  }

  async ping(): Promise<void> {
    await this.#commands.ping()
  }

  /** PUBLISH reaches the subscribers at all nodes of a cluster, but counts only those at its own node. */
  async mayMiss(channel: string): Promise<boolean> {
    if (this.#cluster === undefined) return false
    const [heard, globs] = await Promise.all([
      this.#commands.pubsub('NUMSUB', channel),
      this.#commands.pubsub('NUMPAT')
    ])
    return heard[1] === 0 && Number(globs) === 0
  }

  /**
   * Ends a new connection on which nothing arrives: the driver itself waits without a limit for a server that stands
   * still. A server that loads its data answers that it does, and is waited for.
   */
  #mustAnswer(one: Redis, within = 10_000): void {
    const { stream } = one
    const late = setTimeout(() => {
      this.#lastError = unanswered(within)
      end(one, true)
    }, within)
    for (const event of ['data', 'close']) stream.once(event, () => clearTimeout(late))
  }

  async subscribe(channel: string, isGlob = false): Promise<void> {
    const all = isGlob ? this.#globs : this.#channels
    if (all.has(channel)) return
    all.add(channel)
    try {
      if (isGlob) await this.#subscriber.psubscribe(channel)
      else await this.#subscriber.subscribe(channel)
    } catch (error) {
      // A subscription that the server refuses would be refused again, so it is forgotten. A subscription that was
      // lost with the server is restored with all others.
      if (this.#isConnected) all.delete(channel)
      throw error
    }
  }

  async unsubscribe(channels: readonly string[], globs: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.delete(channel)
    for (const glob of globs) this.#globs.delete(glob)
    // Without a server, the driver keeps a command until there is one again. These subscriptions are not restored then.
    if (!this.#isConnected) return
    await Promise.all([
      channels.length > 0 && this.#subscriber.unsubscribe(...channels),
      globs.length > 0 && this.#subscriber.punsubscribe(...globs)
    ])
  }

  renew(): void {
    end(this.#commands, true)
  }

  close(): void {
    const leave = this.#isConnected ? end : cut
    this.#isClosed = true
    this.#isConnected = false
    this.#stopPinging()
    this.#stopPinging = none
    for (const one of this.#all) leave(one)
  }

  #lost(): void {
    if (!this.#isConnected || this.#isClosed) return
    this.#isConnected = false
    this.#listener.lost()
    // All connections are closed, so that they reconnect to the node that has the slot by now.
    if (this.#cluster !== undefined) this.#leave()
  }

  #leave(): void {
    for (const one of this.#all) end(one, true)
  }

  /**
   * Is called when one of the connections is established. When all are, prepares the server for events, restores the
   * subscriptions, and tells the listener.
   */
  async #ready(): Promise<void> {
    if (this.#isConnected || this.#isClosed || this.#stopPinging === none) return
    if (!this.#isReady) return
    try {
      await Promise.all([
        this.store.prepare(),
        this.#channels.size > 0 && this.#subscriber.subscribe(...this.#channels),
        this.#globs.size > 0 && this.#subscriber.psubscribe(...this.#globs)
      ])
    } catch (error) {
      const isRefused = (error as Error).name === 'ReplyError'
      if (!isRefused || !(await this.#subscribeEach())) {
        // The connection was lost again, or a channel is refused that is needed: there will be another attempt.
        if (!this.#isClosed) end(this.#subscriber, true)
        return
      }
    }
    if (this.#isConnected || this.#isClosed || !this.#isReady) return
    this.#isConnected = true
    this.#listener.restored()
  }

  /**
   * Restores the subscriptions one by one: if the server refuses one of a command, it refuses the whole command. A
   * subscription that is refused, and without which the connection may go on, is forgotten.
   * @returns false if another subscription could not be restored
   */
  async #subscribeEach(): Promise<boolean> {
    for (const all of [this.#channels, this.#globs])
      for (const channel of [...all]) {
        try {
          if (all === this.#globs) await this.#subscriber.psubscribe(channel)
          else await this.#subscriber.subscribe(channel)
        } catch (error) {
          const isForbidden = (error as Error).message.startsWith('NOPERM')
          if (!isForbidden || !this.#listener.refused(channel, error as Error)) return false
          all.delete(channel)
        }
      }
    return true
  }

  get #isReady(): boolean {
    return this.#all.every(({ status }) => status === 'ready')
  }

  /** Checks regularly whether the slot has moved: a node does not tell its clients when it gives a slot away. */
  #follow(): () => void {
    if (this.#cluster === undefined) return none
    return repeat(() => {
      if (this.#isConnected) this.isLeaving().catch(() => {})
    }, LOOK_EVERY)
  }

  /** Services may be at the other node already. */
  async isLeaving(): Promise<boolean> {
    const hasMoved = (await this.#cluster?.hasMoved(this.#commands)) === true
    if (hasMoved && this.#isConnected) this.#leave()
    return hasMoved
  }

  /** Sends PING regularly: a server that has vanished without closing its connections does not answer. */
  #ping(): () => void {
    const waiting = new Set<Redis>()
    return repeat(() => {
      for (const one of this.#all) {
        const isWaiting = waiting.delete(one)
        if (one.status !== 'ready') continue
        if (isWaiting) {
          end(one, true)
          continue
        }
        waiting.add(one)
        one.ping().then(
          () => waiting.delete(one),
          () => waiting.delete(one)
        )
      }
    }, PING_EVERY)
  }
}

/**
 * Ends a connection. The driver listens only to the first error of a socket. A socket that is closed during the TLS
 * handshake may have a second error, which would end the process without a listener.
 * @param again whether the connection is to reconnect
 */
function end(one: Redis, again = false): void {
  const { stream } = one as { readonly stream?: NodeJS.EventEmitter | null }
  stream?.on('error', none)
  one.disconnect(again)
}

/** Ends a connection that is being made, at once: the driver waits 2 s for the server to end its side, too. */
function cut(one: Redis): void {
  end(one)
  one.stream?.destroy()
}

/**
 * Does nothing. Stands for the functions that stop pinging or reconnecting, before the
 * connections are established and after they are closed.
 */
function none(): void {}

function connectFailure(where: string, cause: Error): Error {
  if (/WRONGPASS|NOAUTH|invalid password/i.test(cause.message))
    return new UnauthenticatedError(
      `Redis at ${where} does not accept the credentials (${cause.message}); check username and password`
    )
  return unreachable('Redis', where, cause, 'start redis-server there, or check options.url')
}
