/**
 * Redis by ioredis: one connection for commands, one for subscriptions, and one for storing events that replicas must confirm.
 * The only place that knows how the driver connects, loses its server and finds it again.
 */

import { repeat, unreachable } from '@elysia-microservices/transport/engine'
import { backoffDelay, OptionError, UnauthenticatedError } from '@elysia-microservices/transport/kit'
import { Redis, type RedisOptions } from 'ioredis'
import { Cluster, type Node } from './cluster.ts'

/** Milliseconds between signs of life, and after which a server without one is lost. */
const PING_EVERY = 10_000
/** Milliseconds between questions to a cluster whether its nodes have changed. */
const LOOK_EVERY = 1_000
const RECONNECT_AFTER = { minDelay: 50, maxDelay: 2_000 }

/**
 * Options that users may not change. `enableOfflineQueue: false` throws where nobody can catch it when the connection
 * is lost, and commands in a pipeline hang; with `maxRetriesPerRequest: null` commands under way never settle.
 * Subscriptions are restored by us, because others wait until they are there.
 */
const FIXED: RedisOptions = {
  lazyConnect: true,
  enableOfflineQueue: true,
  enableAutoPipelining: true,
  // None of a pipeline is answered before all are, and only one is under way at a time: what carries many events goes alone.
  autoPipeliningIgnoredCommands: ['evalsha', 'xreadgroup', 'exists', 'xack'],
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  protocol: 2
}

/** Is told what becomes of a link. */
export interface LinkListener {
  lost(): void
  restored(): void
  message(pattern: string | undefined, channel: string, bytes: Buffer): void
}

/** Options of a link besides an address. */
export interface LinkOptions {
  /** Nodes of a cluster, in place of an address. */
  readonly nodes?: readonly Node[] | undefined
  /** Events are stored over a connection of their own: one that waits for replicas does nothing else. Default: false. */
  readonly storesApart?: boolean
}

/** All connections to one server. */
export class Link {
  readonly commands: Redis
  /** For commands that store events: the same connection, or one of its own. */
  readonly storing: Redis
  readonly #subscriber: Redis
  readonly #all: readonly Redis[]
  readonly #listener: LinkListener
  readonly #cluster: Cluster | undefined
  readonly #channels = new Set<string>()
  readonly #globs = new Set<string>()
  #isConnected = false
  #isClosed = false
  #stopPinging: () => void = () => {}
  #lastError: Error | undefined

  private constructor(
    options: RedisOptions,
    listener: LinkListener,
    { nodes, storesApart = false }: LinkOptions
  ) {
    this.#listener = listener
    this.#cluster = nodes && new Cluster(nodes, options)
    const retryStrategy = (attempt: number): number | null =>
      this.#stopPinging === none ? null : backoffDelay(RECONNECT_AFTER, attempt - 1, Math.random())
    this.#stopPinging = none
    const found = this.#cluster && { Connector: this.#cluster.Connector }
    const all = { ...options, ...FIXED, ...found, retryStrategy } as Omit<RedisOptions, 'replyMapping'>
    this.commands = new Redis(all)
    this.#subscriber = new Redis(all)
    this.storing = storesApart ? new Redis(all) : this.commands
    this.#all = [...new Set([this.commands, this.#subscriber, this.storing])]
    for (const one of this.#all) {
      one.on('error', (error: Error) => {
        this.#lastError = error
      })
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
   * @throws {OptionError} the server is a node of a cluster, or is none and should be
   */
  static async open(
    options: RedisOptions,
    where: string,
    listener: LinkListener,
    kind: LinkOptions = {}
  ): Promise<Link> {
    const link = new Link(options, listener, kind)
    try {
      await Promise.all(link.#all.map((one) => one.connect()))
      if (kind.nodes === undefined) await link.#refuseCluster(where)
    } catch (error) {
      link.#isClosed = true
      for (const one of link.#all) end(one)
      throw error instanceof OptionError ? error : connectFailure(where, link.#lastError ?? (error as Error))
    }
    link.#isConnected = true
    const stops = [link.#ping(), link.#follow()]
    link.#stopPinging = () => {
      for (const stop of stops) stop()
    }
    return link
  }

  /** Nodes of a cluster do not tell who listens at others, and each has a part of the keys. @throws {OptionError} it is one */
  async #refuseCluster(where: string): Promise<void> {
    // A user without the right to ask finds out when a command is refused.
    const about = await this.commands.info('server').catch(() => '')
    if (/^(redis|server)_mode:cluster/m.test(String(about)))
      throw new OptionError(
        'options',
        `Redis at ${where} is a node of a cluster, and who listens at others is not known there; give its nodes as options.cluster`
      )
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Whether those who listen on a channel may be at other servers, where PUBLISH does not count them. */
  get isCluster(): boolean {
    return this.#cluster !== undefined
  }

  /**
   * Whether somebody may listen on a channel of whom PUBLISH knows nothing, and only there: in a cluster, what is published
   * goes to the listeners of all nodes, and only those of ours are counted.
   */
  async mayMiss(channel: string): Promise<boolean> {
    if (this.#cluster === undefined) return false
    const [heard, globs] = await Promise.all([
      this.commands.pubsub('NUMSUB', channel),
      this.commands.pubsub('NUMPAT')
    ])
    return heard[1] === 0 && Number(globs) === 0
  }

  /** Subscribes to a channel, or to a glob; again whenever the server was lost. */
  async subscribe(channel: string, isGlob = false): Promise<void> {
    const all = isGlob ? this.#globs : this.#channels
    if (all.has(channel)) return
    all.add(channel)
    try {
      if (isGlob) await this.#subscriber.psubscribe(channel)
      else await this.#subscriber.subscribe(channel)
    } catch (error) {
      // A subscription that the server refuses would be refused again; one that was lost with the server is set up
      // again with all others.
      if (this.#isConnected) all.delete(channel)
      throw error
    }
  }

  /** Ends subscriptions. Resolves when all that was sent for them has come. */
  async unsubscribe(channels: readonly string[], globs: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.delete(channel)
    for (const glob of globs) this.#globs.delete(glob)
    await Promise.all([
      channels.length > 0 && this.#subscriber.unsubscribe(...channels),
      globs.length > 0 && this.#subscriber.punsubscribe(...globs)
    ])
  }

  /** Reconnects: everything that waits is told that the connection was lost. */
  renew(): void {
    end(this.commands, true)
  }

  close(): void {
    this.#isClosed = true
    this.#isConnected = false
    this.#stopPinging()
    this.#stopPinging = none
    for (const one of this.#all) end(one)
  }

  #lost(): void {
    if (!this.#isConnected || this.#isClosed) return
    this.#isConnected = false
    this.#listener.lost()
    // All meet again where our keys are by now.
    if (this.#cluster !== undefined) this.#leave()
  }

  #leave(): void {
    for (const one of this.#all) end(one, true)
  }

  /** A connection is there again. With all of them, what was subscribed is, and only then there is a server again. */
  async #ready(): Promise<void> {
    if (this.#isConnected || this.#isClosed || this.#stopPinging === none) return
    if (!this.#isReady) return
    try {
      await Promise.all([
        this.#channels.size > 0 && this.#subscriber.subscribe(...this.#channels),
        this.#globs.size > 0 && this.#subscriber.psubscribe(...this.#globs)
      ])
    } catch {
      // It was lost again, or refuses what it allowed before: the next attempt tells.
      if (!this.#isClosed) end(this.#subscriber, true)
      return
    }
    if (this.#isConnected || this.#isClosed || !this.#isReady) return
    this.#isConnected = true
    this.#listener.restored()
  }

  get #isReady(): boolean {
    return this.#all.every(({ status }) => status === 'ready')
  }

  /** A node of a cluster that hands our keys over tells nobody. */
  #follow(): () => void {
    const cluster = this.#cluster
    if (cluster === undefined) return none
    return repeat(() => {
      if (!this.#isConnected) return
      cluster.hasMoved(this.commands).then(
        (hasMoved) => {
          if (hasMoved) this.#leave()
        },
        () => {}
      )
    }, LOOK_EVERY)
  }

  /** A server that has gone without a word is noticed by what it does not answer. */
  #ping(): () => void {
    const waiting = new Set<Redis>()
    return repeat(() => {
      if (!this.#isConnected) return waiting.clear()
      for (const one of this.#all) {
        if (waiting.delete(one)) {
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
 * Ends a connection. The driver listens to the first error of a socket only, and one that is ended while TLS begins may
 * have a second: without a listener it would end the process.
 * @param again whether it reconnects
 */
function end(one: Redis, again = false): void {
  const { stream } = one as { readonly stream?: NodeJS.EventEmitter | null }
  stream?.on('error', none)
  one.disconnect(again)
}

/** Before a link is made, and after it is closed, nothing pings, and nothing reconnects. */
function none(): void {}

function connectFailure(where: string, cause: Error): Error {
  if (/WRONGPASS|NOAUTH|invalid password/i.test(cause.message))
    return new UnauthenticatedError(
      `Redis at ${where} does not accept the credentials (${cause.message}); check username and password`
    )
  return unreachable('Redis', where, cause, 'start redis-server there, or check options.url')
}
