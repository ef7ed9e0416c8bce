/**
 * One connection that reconnects for ever, and channels on it that are opened again. No other file knows how the
 * driver connects, loses its server and finds it again.
 */
import { Reconnecting } from '@elysia-microservices/engine'
import {
  backoffDelay,
  type Clock,
  ConnectionError,
  endedWithin,
  systemClock,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import type { Driver, DriverChannel, DriverConnection, DriverListener } from '../driver.ts'
import { type CheckedOptions, hostOf } from '../options/options.ts'
import { connectFailure } from './failures.ts'

/** Milliseconds between attempts to connect. */
const AGAIN_AFTER = { minDelay: 50, maxDelay: 2_000 }
/**
 * Most replaced channels of a part that still wait for confirmations. The server allows a connection only some
 * thousands of channels, and while a queue has no leader, a channel may be replaced every 5 s.
 */
const MOST_REPLACED = 16

/** Is called when a link loses its server, and when it has a server again. */
export interface LinkListener extends Pick<DriverListener, 'signal'> {
  lost(): void
  restored(): void
  /** The server takes no messages at the moment, for this reason; `undefined`: it takes messages again. */
  halted(reason: string | undefined): void
  /** Something cannot be set up at the server at the moment; the link tries again. */
  failed(error: Error): void
}

/** A channel, with all that is declared and consumed on it. After the channel was lost, all of it is set up again. */
export interface Part {
  /** `undefined` while there is no channel. */
  readonly channel: DriverChannel | undefined
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

interface Held extends Part, PartOptions {
  channel: DriverChannel | undefined
  readonly setUp: (channel: DriverChannel) => Promise<unknown>
  /** Channels that were replaced and wait for confirmations, the oldest first. */
  readonly replaced: Set<DriverChannel>
}

/** Is called when the server has closed a single channel, and when that channel is open again. */
export interface Alone {
  closed(error: Error): void
  reopened(): void
}

/** The connection of one client or service. */
export class Link {
  readonly #driver: Driver
  readonly #options: CheckedOptions
  readonly #name: string | undefined
  readonly #listener: LinkListener
  readonly #clock: Clock
  readonly #parts = new Set<Held>()
  #connection: DriverConnection | undefined
  /** The index of the address that is tried next. */
  #next = 0
  #isConnected = false
  readonly #pauses = new Reconnecting(AGAIN_AFTER)
  #isClosed = false
  /** Cancels the next attempt to connect. */
  #endPause: (() => void) | undefined
  /** The major version of the server. Default: that of a server that does not state its version. */
  #version = 4
  server = ''

  private constructor(
    driver: Driver,
    options: CheckedOptions,
    name: string | undefined,
    listener: LinkListener,
    clock: Clock
  ) {
    this.#driver = driver
    this.#options = options
    this.#name = name
    this.#listener = listener
    this.#clock = clock
  }

  /**
   * Connects to the first server that can be reached.
   * @param clock of the pauses between attempts
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} a server does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    name: string | undefined,
    listener: LinkListener,
    clock: Clock = systemClock
  ): Promise<Link> {
    const link = new Link(driver, options, name, listener, clock)
    let failure: Error | undefined
    for (let attempt = 0; attempt < options.urls.length; attempt++) {
      try {
        await link.#connect()
        link.#isConnected = true
        return link
      } catch (error) {
        if (listener.signal?.aborted === true) throw error
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

  /** Milliseconds within which the server must answer on a connection that stands. */
  get heartbeat(): number {
    return this.#options.heartbeat
  }

  /**
   * Opens a channel, and sets it up. After the channel was lost, it is opened and set up again.
   * @throws the error of the first set-up
   */
  async open(setUp: (channel: DriverChannel) => Promise<unknown>, options: PartOptions = {}): Promise<Part> {
    const part: Held = {
      ...options,
      setUp,
      channel: undefined,
      replaced: new Set(),
      renew: async () => {
        await shut(part)
        if (this.#connection === undefined) return
        try {
          await this.#setUp(part)
        } catch (error) {
          void this.#again(part, 1)
          throw error
        }
      },
      replace: async () => {
        if (this.#connection !== undefined) await this.#setUp(part)
      },
      remove: async () => {
        this.#parts.delete(part)
        await shut(part)
      }
    }
    this.#parts.add(part)
    try {
      // Without a server, the channel is set up later, together with all others.
      if (this.#connection !== undefined) await this.#setUp(part)
    } catch (error) {
      if (this.#connection !== undefined) this.#parts.delete(part)
      // RabbitMQ 3.10 closes the connection of a consumer if another connection is creating the same quorum queue at
      // that moment.
      if (this.#connection === undefined && part.isApart === true) return part
      throw error
    }
    return part
  }

  /** Runs a task on a new channel, which the server may close without effect on other channels. */
  async aside<Value>(task: (channel: DriverChannel) => Promise<Value>): Promise<Value> {
    if (this.#connection === undefined)
      throw new ConnectionError('There is no connection to RabbitMQ at the moment', false)
    const channel = await this.#connection.openChannel(true)
    try {
      return await task(channel)
    } finally {
      // Nothing waits for the channel to be closed.
      channel.close().catch(() => {})
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    this.#endPause?.()
    const connection = this.#connection
    this.#connection = undefined
    await connection?.close()
  }

  async #connect(): Promise<void> {
    const { urls, tls, connectTimeout, heartbeat } = this.#options
    const url = urls[this.#next++ % urls.length] as string
    let connection: DriverConnection | undefined
    const lost = () => {
      if (connection !== undefined) this.#lost(connection)
    }
    const halted = (reason: string | undefined) => this.#listener.halted(reason)
    connection = await this.#driver.connect(
      url,
      { tls, connectTimeout, heartbeat, name: this.#name },
      { signal: this.#listener.signal, lost, halted }
    )
    if (this.#isClosed) {
      await connection.close()
      throw ConnectionError.closed()
    }
    this.server = hostOf(url)
    this.#version = versionOf(connection)
    this.#pauses.connected()
    this.#connection = connection
  }

  async #setUp(part: Held): Promise<void> {
    const connection = this.#connection as DriverConnection
    const opening = connection.openChannel(part.isConfirmed === true)
    if (!(await endedWithin(opening, this.heartbeat))) {
      opening.then((late) => late.close()).catch(() => {})
      throw new ConnectionError('RabbitMQ does not open a channel', false)
    }
    const channel = await opening
    channel.whenClosed(() => {
      if (part.channel !== channel) return
      part.channel = undefined
      // In a microtask, because the driver closes all channels before it reports that their connection is lost.
      queueMicrotask(() => {
        if (this.#connection !== connection || this.#isClosed || !this.#parts.has(part)) return
        part.alone?.closed(channel.failure ?? new Error('RabbitMQ has closed a channel without a reason'))
        void this.#again(part, 0)
      })
    })
    try {
      if (!(await endedWithin(part.setUp(channel), this.heartbeat)))
        throw new ConnectionError(
          'RabbitMQ does not answer a request about a queue: perhaps the queue has no leader; see the log of RabbitMQ',
          false
        )
    } catch (error) {
      channel.close().catch(() => {})
      throw error
    }
    // The connection was lost meanwhile: the part is set up over the next one.
    if (this.#connection !== connection) return
    const replaced = part.channel
    part.channel = channel
    if (replaced !== undefined) void retire(part, replaced)
  }

  /**
   * Opens a single channel again that the server has closed: because of a command on that channel, or because its
   * queue was deleted.
   */
  async #again(part: Held, attempt: number): Promise<void> {
    const connection = this.#connection
    const pause = backoffDelay(AGAIN_AFTER, attempt, Math.random())
    await new Promise<void>((resolve) => this.#clock.after(pause, resolve))
    if (this.#connection !== connection || connection === undefined || !this.#parts.has(part)) return
    try {
      await this.#setUp(part)
      if (this.#connection === connection) part.alone?.reopened()
    } catch (error) {
      if (this.#connection !== connection || !this.#parts.has(part)) return
      this.#listener.failed(error as Error)
      void this.#again(part, attempt + 1)
    }
  }

  #lost(connection: DriverConnection): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
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
    this.#endPause = this.#clock.after(this.#pauses.pause, () => void this.#find())
  }

  async #find(): Promise<void> {
    try {
      await this.#connect()
      for (const part of this.#parts) if (part.isApart !== true) await this.#setUp(part)
    } catch (error) {
      const connection = this.#connection
      this.#connection = undefined
      if (this.#isClosed) return
      if (connection !== undefined) {
        // The server can be reached, but refuses what it allowed before.
        this.#listener.failed(error as Error)
        await connection.close()
      }
      this.#pauses.failed()
      return this.#findLater()
    }
    if (this.#isClosed) return
    // The connection may be lost again already.
    if (this.#connection === undefined) {
      this.#pauses.failed()
      return this.#findLater()
    }
    this.#isConnected = true
    for (const part of this.#parts) if (part.isApart === true) void this.#again(part, 0)
    this.#listener.restored()
  }
}

/** The major version of a server. */
function versionOf({ version }: DriverConnection): number {
  const major = Number.parseInt(String(version), 10)
  return Number.isNaN(major) ? 4 : major
}

/** Closes a channel on which nothing is published any more, after the last confirmation. */
async function retire({ replaced }: Held, channel: DriverChannel): Promise<void> {
  replaced.add(channel)
  const [oldest] = replaced
  if (replaced.size > MOST_REPLACED && oldest !== undefined) {
    replaced.delete(oldest)
    oldest.close().catch(() => {})
  }
  await channel.confirmed().catch(() => {})
  replaced.delete(channel)
  await channel.close().catch(() => {})
}

async function shut(part: Held): Promise<void> {
  const { channel } = part
  part.channel = undefined
  await channel?.close().catch(() => {})
}
