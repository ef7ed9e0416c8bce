/**
 * RabbitMQ by amqplib: one connection that reconnects for ever, and channels on it that are opened again. No other
 * file knows how the driver connects, loses its server and finds it again.
 */
import { Reconnecting } from '@elysia-microservices/engine'
import {
  backoffDelay,
  ConnectionError,
  endedWithin,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import { type CheckedOptions, hostOf } from '../options/options.ts'
import { connectFailure } from './failures.ts'
import {
  destroy,
  gatherWrites,
  onChannelOf,
  socketOf,
  survivesTimeouts,
  watch,
  withHeartbeat
} from './socket.ts'

/** Milliseconds between attempts to connect. */
const AGAIN_AFTER = { minDelay: 50, maxDelay: 2_000 }
/**
 * Most replaced channels of a part that still wait for confirmations. The server allows a connection only some
 * thousands of channels, and while a queue has no leader, a channel may be replaced every 5 s.
 */
const MOST_REPLACED = 16

/** Is called when a link loses its server, and when it has a server again. */
export interface LinkListener {
  lost(): void
  restored(): void
  /** The server takes no messages at the moment, for this reason; `undefined`: it takes messages again. */
  halted(reason: string | undefined): void
  /** Something cannot be set up at the server at the moment; the link tries again. */
  failed(error: Error): void
}

/** A channel, with all that is declared and consumed on it. After the channel was lost, all of it is set up again. */
export interface Part<Kind extends Channel = Channel> {
  /** `undefined` while there is no channel. */
  readonly channel: Kind | undefined
  /**
   * Closes the channel, so that unacknowledged messages go back to their queues, and opens a new one.
   * @throws the new channel cannot be opened at the moment; the link tries again
   */
  renew(): Promise<void>
  /**
   * Opens a new channel. The present one is closed as soon as the server has confirmed what was published on it, or
   * when 16 more channels have been replaced since: then its messages fail.
   * @throws the new channel cannot be opened; the present one stays
   */
  replace(): Promise<void>
  /** Closes the channel for good. */
  remove(): Promise<void>
}

/** Options of a channel that is opened again after the server was lost. */
export interface PartOptions {
  /** Whether the server confirms the messages that are published on the channel. Default: false. */
  readonly isConfirmed?: boolean
  /**
   * Whether other channels need not wait for this one after the server was lost: the channel may use a queue of
   * several servers, and such a queue may have no leader at the moment. Default: false.
   */
  readonly isApart?: boolean
  readonly alone?: Alone
}

interface Held extends Part<ConfirmChannel>, PartOptions {
  channel: ConfirmChannel | undefined
  readonly setUp: (channel: ConfirmChannel) => Promise<unknown>
  /** Channels that were replaced and wait for confirmations, the oldest first. */
  readonly replaced: Set<ConfirmChannel>
}

/** Is called when the server has closed a single channel, and when that channel is open again. */
export interface Alone {
  closed(error: Error): void
  reopened(): void
}

/** The connection of one client or service. */
export class Link {
  readonly #options: CheckedOptions
  readonly #name: string | undefined
  readonly #listener: LinkListener
  readonly #parts = new Set<Held>()
  #model: ChannelModel | undefined
  /** The index of the address that is tried next. */
  #next = 0
  #isConnected = false
  readonly #pauses = new Reconnecting(AGAIN_AFTER)
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The major version of the server. Default: that of a server that does not state its version. */
  #version = 4
  server = ''

  private constructor(options: CheckedOptions, name: string | undefined, listener: LinkListener) {
    this.#options = options
    this.#name = name
    this.#listener = listener
  }

  /**
   * Connects to the first server that can be reached.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} a server does not accept the credentials
   */
  static async open(
    options: CheckedOptions,
    name: string | undefined,
    listener: LinkListener
  ): Promise<Link> {
    const link = new Link(options, name, listener)
    let failure: Error | undefined
    for (let attempt = 0; attempt < options.urls.length; attempt++) {
      try {
        await link.#connect()
        link.#isConnected = true
        return link
      } catch (error) {
        failure = connectFailure(options.where, error as Error)
        if (failure instanceof UnauthenticatedError) break
      }
    }
    throw failure
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /**
   * Whether a queue that other connections use, too, may be transient. In a cluster, a transient queue is lost with
   * its node and can be created again on another node at once. A durable queue is not available until its node is
   * back. RabbitMQ 4.3 has no transient queues, and earlier 4.x may be configured to refuse them.
   */
  get allowsTransient(): boolean {
    return this.#version < 4
  }

  /** Milliseconds within which the server must answer. */
  get timeout(): number {
    return this.#options.timeout
  }

  /**
   * Opens a channel, and sets it up. After the channel was lost, it is opened and set up again.
   * @throws the error of the first set-up
   */
  async open(
    setUp: (channel: ConfirmChannel) => Promise<unknown>,
    options: PartOptions = {}
  ): Promise<Part<ConfirmChannel>> {
    const part: Held = {
      ...options,
      setUp,
      channel: undefined,
      replaced: new Set(),
      renew: async () => {
        await shut(part)
        if (this.#model === undefined) return
        try {
          await this.#setUp(part)
        } catch (error) {
          void this.#again(part, 1)
          throw error
        }
      },
      replace: async () => {
        if (this.#model !== undefined) await this.#setUp(part)
      },
      remove: async () => {
        this.#parts.delete(part)
        await shut(part)
      }
    }
    this.#parts.add(part)
    try {
      // Without a server, the channel is set up later, together with all others.
      if (this.#model !== undefined) await this.#setUp(part)
    } catch (error) {
      if (this.#model !== undefined) this.#parts.delete(part)
      // RabbitMQ 3.10 closes the connection of a consumer if another connection is creating the same quorum queue at
      // that moment.
      if (this.#model === undefined && part.isApart === true) return part
      throw error
    }
    return part
  }

  /** Runs a task on a new channel, which the server may close without effect on other channels. */
  async aside<Value>(task: (channel: ConfirmChannel) => Promise<Value>): Promise<Value> {
    if (this.#model === undefined)
      throw new ConnectionError('There is no connection to RabbitMQ at the moment', false)
    return onChannelOf(this.#model, task)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    clearTimeout(this.#timer)
    const model = this.#model
    this.#model = undefined
    if (model !== undefined) await closeSoon(model)
  }

  async #connect(): Promise<void> {
    const { urls, tls, timeout } = this.#options
    const url = urls[this.#next++ % urls.length] as string
    const model = await connect(withHeartbeat(url, timeout), {
      ...tls,
      timeout,
      noDelay: true,
      clientProperties: { connection_name: this.#name }
    })
    // An error event without a listener would end the process. The event `close` follows, and is handled.
    model.on('error', () => {})
    survivesTimeouts(model)
    if (this.#isClosed) {
      await model.close().catch(() => {})
      throw ConnectionError.closed()
    }
    const socket = socketOf(model)
    if (socket !== undefined) {
      gatherWrites(socket)
      // The driver does not listen to the event `close` of its socket.
      socket.once('close', () => this.#lost(model))
      watch(model, socket, timeout, () => this.#model === model)
    }
    this.server = hostOf(url)
    this.#version = versionOf(model)
    this.#pauses.connected()
    this.#model = model
    model.on('blocked', (reason: string) => this.#listener.halted(reason || 'no reason given'))
    model.on('unblocked', () => this.#listener.halted(undefined))
    model.on('close', () => this.#lost(model))
  }

  async #setUp(part: Held): Promise<void> {
    const model = this.#model as ChannelModel
    const opening = part.isConfirmed === true ? model.createConfirmChannel() : model.createChannel()
    if (!(await endedWithin(opening, this.timeout))) {
      opening.then((late) => late.close()).catch(() => {})
      throw new ConnectionError('RabbitMQ does not open a channel', false)
    }
    const channel = (await opening) as ConfirmChannel
    let error: Error | undefined
    channel.on('error', (cause: Error) => {
      error = cause
    })
    channel.on('close', () => {
      if (part.channel !== channel) return
      part.channel = undefined
      // In a microtask, because the driver closes all channels before it reports that their connection is lost.
      queueMicrotask(() => {
        if (this.#model !== model || this.#isClosed || !this.#parts.has(part)) return
        part.alone?.closed(error ?? new Error('RabbitMQ has closed a channel without a reason'))
        void this.#again(part, 0)
      })
    })
    try {
      if (!(await endedWithin(part.setUp(channel), this.timeout)))
        throw new ConnectionError(
          'RabbitMQ does not answer a request about a queue: perhaps the queue has no leader; see the log of RabbitMQ',
          false
        )
    } catch (error) {
      channel.close().catch(() => {})
      throw error
    }
    // The connection was lost meanwhile: the part is set up over the next one.
    if (this.#model !== model) return
    const replaced = part.channel
    part.channel = channel
    if (replaced !== undefined) void retire(part, replaced)
  }

  /**
   * Opens a single channel again that the server has closed: because of a command on that channel, or because its
   * queue was deleted.
   */
  async #again(part: Held, attempt: number): Promise<void> {
    const model = this.#model
    await new Promise((resolve) => setTimeout(resolve, backoffDelay(AGAIN_AFTER, attempt, Math.random())))
    if (this.#model !== model || model === undefined || !this.#parts.has(part)) return
    try {
      await this.#setUp(part)
      if (this.#model === model) part.alone?.reopened()
    } catch (error) {
      if (this.#model !== model || !this.#parts.has(part)) return
      this.#listener.failed(error as Error)
      void this.#again(part, attempt + 1)
    }
  }

  #lost(model: ChannelModel): void {
    if (this.#model !== model) return
    this.#model = undefined
    for (const part of this.#parts) part.channel = undefined
    if (this.#isClosed) return
    if (this.#isConnected) {
      this.#isConnected = false
      this.#listener.lost()
      this.#pauses.lost()
      this.#findLater()
    }
  }

  #findLater(): void {
    this.#timer = setTimeout(() => void this.#find(), this.#pauses.pause)
  }

  async #find(): Promise<void> {
    try {
      await this.#connect()
      for (const part of this.#parts) if (part.isApart !== true) await this.#setUp(part)
    } catch (error) {
      const model = this.#model
      this.#model = undefined
      if (this.#isClosed) return
      if (model !== undefined) {
        // The server can be reached, but refuses what it allowed before.
        this.#listener.failed(error as Error)
        await closeSoon(model)
      }
      this.#pauses.failed()
      return this.#findLater()
    }
    if (this.#isClosed) return
    // The connection may be lost again already.
    if (this.#model === undefined) {
      this.#pauses.failed()
      return this.#findLater()
    }
    this.#isConnected = true
    for (const part of this.#parts) if (part.isApart === true) void this.#again(part, 0)
    this.#listener.restored()
  }
}

/** The major version of a server. */
function versionOf({ connection }: ChannelModel): number {
  const { version } = connection.serverProperties as { readonly version?: unknown }
  const major = Number.parseInt(String(version), 10)
  return Number.isNaN(major) ? 4 : major
}

/** Closes a connection, and does not wait long for a server that does not answer. */
async function closeSoon(model: ChannelModel): Promise<void> {
  await endedWithin(
    model.close().catch(() => {}),
    1_000
  )
  destroy(model)
}

/** Closes a channel on which nothing is published any more, after the last confirmation. */
async function retire({ replaced }: Held, channel: ConfirmChannel): Promise<void> {
  replaced.add(channel)
  const [oldest] = replaced
  if (replaced.size > MOST_REPLACED && oldest !== undefined) {
    replaced.delete(oldest)
    oldest.close().catch(() => {})
  }
  // Other channels have no confirmations.
  await channel.waitForConfirms?.().catch(() => {})
  replaced.delete(channel)
  await channel.close().catch(() => {})
}

async function shut(part: Held): Promise<void> {
  const { channel } = part
  part.channel = undefined
  await channel?.close().catch(() => {})
}
