/**
 * RabbitMQ by amqplib: one connection that is looked for again for ever, and channels on it that are opened again. The only
 * place that knows how the driver connects, loses its server and finds it again.
 */
import { Reconnecting } from '@elysia-microservices/transport/engine'
import {
  backoffDelay,
  ConnectionError,
  endedWithin,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import { type CheckedOptions, hostOf } from '../options/options.ts'
import { connectFailure } from './failures.ts'
import { destroy, gatherWrites, onChannelOf, socketOf, watch, withHeartbeat } from './socket.ts'

/** Milliseconds between attempts. */
const AGAIN_AFTER = { minDelay: 50, maxDelay: 2_000 }

/** Is told what becomes of a link. */
export interface LinkListener {
  lost(): void
  restored(): void
  /** Something at the server cannot be made (again); trying again. */
  failed(error: Error): void
}

/** A channel, and what is declared and consumed on it: all of it again whenever it was lost. */
export interface Part<Kind extends Channel = Channel> {
  /** Missing while there is none. */
  readonly channel: Kind | undefined
  /** Closes the channel, so that what is unacknowledged goes back, and sets up another. */
  renew(): Promise<void>
  /** Closes the channel; it is not opened again. */
  remove(): Promise<void>
}

/** Options of a channel that is opened again whenever the server was lost. */
export interface PartOptions {
  /** The server confirms what is published there. Default: false. */
  readonly isConfirmed?: boolean
  /**
   * Other channels do not wait for it after the server was lost: a queue of several servers may have none that leads it.
   * Default: false.
   */
  readonly isApart?: boolean
  readonly alone?: Alone
}

interface Held extends Part<ConfirmChannel>, PartOptions {
  channel: ConfirmChannel | undefined
  readonly setUp: (channel: ConfirmChannel) => Promise<unknown>
}

/** Is told what becomes of a channel that the server has closed alone. */
export interface Alone {
  closed(error: Error): void
  reopened(): void
}

/** The connection of one end. */
export class Link {
  readonly #options: CheckedOptions
  readonly #name: string | undefined
  readonly #listener: LinkListener
  readonly #parts = new Set<Held>()
  #model: ChannelModel | undefined
  /** The address that is tried next. */
  #next = 0
  #isConnected = false
  readonly #pauses = new Reconnecting(AGAIN_AFTER)
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Of the server. Default: of one that does not say. */
  #version = 4
  server = ''

  private constructor(options: CheckedOptions, name: string | undefined, listener: LinkListener) {
    this.#options = options
    this.#name = name
    this.#listener = listener
  }

  /**
   * Connects to the first server that can be reached.
   * @throws {ConnectionError} none can
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
   * Whether a queue that others use, too, may be transient. Of a cluster, such a queue goes with the node that has it, and is
   * made again on another; a durable one is not to be had until its node is back. RabbitMQ 4.3 has no transient ones, and
   * earlier 4.x may be told to have none.
   */
  get allowsTransient(): boolean {
    return this.#version < 4
  }

  /** Milliseconds in which the server must answer. */
  get timeout(): number {
    return this.#options.timeout
  }

  /**
   * Opens a channel, and sets it up; again whenever it was lost.
   * @throws what the set-up throws the first time
   */
  async open(
    setUp: (channel: ConfirmChannel) => Promise<unknown>,
    options: PartOptions = {}
  ): Promise<Part<ConfirmChannel>> {
    const part: Held = {
      ...options,
      setUp,
      channel: undefined,
      renew: async () => {
        await shut(part)
        if (this.#model !== undefined) await this.#setUp(part)
      },
      remove: async () => {
        this.#parts.delete(part)
        await shut(part)
      }
    }
    this.#parts.add(part)
    try {
      // Without a server it is set up with all others once there is one.
      if (this.#model !== undefined) await this.#setUp(part)
    } catch (error) {
      if (this.#model !== undefined) this.#parts.delete(part)
      // RabbitMQ 3.10 ends the connection of one that consumes from a quorum queue which another has not quite made yet.
      if (this.#model === undefined && part.isApart === true) return part
      throw error
    }
    return part
  }

  /** Runs a task on a channel of its own, which the server may close. */
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
    // A server that does not answer is not waited for.
    await endedWithin(Promise.resolve(model?.close().catch(() => {})), 1_000)
    destroy(model)
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
    // An error event without a listener would end the process; what follows it is 'close'.
    model.on('error', () => {})
    if (this.#isClosed) {
      await model.close().catch(() => {})
      throw ConnectionError.closed()
    }
    const socket = socketOf(model)
    if (socket !== undefined) {
      gatherWrites(socket)
      // The driver listens to ends and errors only.
      socket.once('close', () => this.#lost(model))
      watch(model, socket, timeout, () => this.#model === model)
    }
    this.server = hostOf(url)
    this.#version = versionOf(model)
    this.#pauses.connected()
    this.#model = model
    model.on('close', () => this.#lost(model))
  }

  async #setUp(part: Held): Promise<void> {
    const model = this.#model as ChannelModel
    const channel = (await (part.isConfirmed === true
      ? model.createConfirmChannel()
      : model.createChannel())) as ConfirmChannel
    let error: Error | undefined
    channel.on('error', (cause: Error) => {
      error = cause
    })
    channel.on('close', () => {
      if (part.channel !== channel) return
      part.channel = undefined
      // The driver closes channels before it says that their connection is lost.
      queueMicrotask(() => {
        if (this.#model !== model || this.#isClosed || !this.#parts.has(part)) return
        part.alone?.closed(error ?? new Error('RabbitMQ has closed a channel, and gave no reason'))
        void this.#again(part, 0)
      })
    })
    try {
      if (!(await endedWithin(part.setUp(channel), this.timeout)))
        throw new ConnectionError(
          'RabbitMQ does not answer about a queue: perhaps no server leads it; see the log of RabbitMQ',
          false
        )
    } catch (error) {
      channel.close().catch(() => {})
      throw error
    }
    part.channel = channel
  }

  /** Only this channel was closed, because of something that was asked on it, or because its queue is gone. */
  async #again(part: Held, attempt: number): Promise<void> {
    const model = this.#model
    await new Promise((resolve) => setTimeout(resolve, backoffDelay(AGAIN_AFTER, attempt, Math.random())))
    if (this.#model !== model || model === undefined || !this.#parts.has(part)) return
    try {
      await this.#setUp(part)
      part.alone?.reopened()
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
        // The server is there, and refuses what it allowed before.
        this.#listener.failed(error as Error)
        await model.close().catch(() => {})
        destroy(model)
      }
      this.#pauses.failed()
      return this.#findLater()
    }
    if (this.#isClosed) return
    // It may be lost already again.
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

async function shut(part: Held): Promise<void> {
  const { channel } = part
  part.channel = undefined
  await channel?.close().catch(() => {})
}
