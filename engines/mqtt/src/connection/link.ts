/**
 * An MQTT server over any driver: a connection that is restored for ever, its subscriptions, and messages that wait
 * for confirmations. No other file knows how a server is lost and found again.
 */
import { Reconnecting } from '@elysia-microservices/engine'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Driver, DriverConnection, DriverListener, Packet } from '../driver.ts'
import type { CheckedOptions, MqttServer } from '../options/options.ts'
import { connectFailure } from './failures.ts'

/** Milliseconds between attempts to connect. */
const AGAIN_AFTER = { minDelay: 100, maxDelay: 2_000 }
/** Messages at most whose arrival the server has not confirmed; the server may allow fewer. */
const MOST_UNCONFIRMED = 1_024

/** The reason code for a connection that is ended for another one with the same client id. */
const TAKEN_OVER = 142
/** Some servers, such as mosquitto, give no reason: so many connections in a row that last only briefly are one. */
const MOST_BRIEF = 3

/** Is called when a link loses its server, and when it has a server again. */
export interface LinkListener extends Pick<DriverListener, 'message' | 'signal'> {
  /** @param why the reason, if a user can change it */
  lost(why: string | undefined): void
  restored(): void
  /** The server refuses to restore a subscription. */
  failed(error: Error): void
}

/** A message to be sent. */
export interface Outgoing extends Packet {
  /**
   * Is called when the server has confirmed or refused the message; `isHeard` is false if nobody has subscribed to
   * its topic. Only with a quality of service above 0.
   */
  readonly told?: (isHeard: boolean, refusal: Error | undefined) => void
}

/** The connection of one client or service. */
export class Link {
  readonly #driver: Driver
  readonly #options: CheckedOptions
  readonly #clientId: string
  readonly #listener: LinkListener
  /** The identifiers of subscriptions, by filter. */
  readonly #filters = new Map<string, number | undefined>()
  #connection: DriverConnection | undefined
  /** The place in the list of the server that is tried next. */
  #next = 0
  #isConnected = false
  #isClosed = false
  readonly #pauses = new Reconnecting(AGAIN_AFTER)
  #timer: ReturnType<typeof setTimeout> | undefined

  #waiting: Outgoing[] = []
  #unconfirmed = 0
  /** The number of confirmed messages, of all that were given with a quality of service above 0. */
  #confirmed = 0
  #given = 0
  /** Whether a message was sent that the server does not confirm. */
  #isUncertain = false
  #flushing: { readonly until: number; resolve(): void; reject(error: Error): void }[] = []
  /** Settles with the answer to the last PING that was asked for. */
  #answered: Promise<void> = Promise.resolve()

  private constructor(driver: Driver, options: CheckedOptions, clientId: string, listener: LinkListener) {
    this.#driver = driver
    this.#options = options
    this.#clientId = clientId
    this.#listener = listener
  }

  /**
   * Connects.
   * @throws {ConnectionError} the server cannot be reached, or lacks a feature of MQTT that is needed
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    clientId: string,
    listener: LinkListener
  ): Promise<Link> {
    const link = new Link(driver, options, clientId, listener)
    let failure: unknown
    for (let attempt = 0; attempt < options.servers.length; attempt++) {
      try {
        await link.#connect()
        link.#isConnected = true
        return link
      } catch (error) {
        if (listener.signal?.aborted === true) throw error
        failure ??= error
      }
    }
    throw connectFailure(options.where, failure as Error & { code?: unknown })
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Bytes of the largest message that the server accepts; `Infinity`: the server does not say. */
  get maximumPacketSize(): number {
    return this.#connection?.maximumPacketSize ?? Number.POSITIVE_INFINITY
  }

  // ── subscriptions ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Subscribes. The subscription is restored after the server was lost. @param id is given with each message that is
   * received for this filter
   */
  async subscribe(filter: string, id?: number): Promise<void> {
    this.#filters.set(filter, id)
    if (this.#connection?.isOpen !== true) return
    try {
      await this.#connection.subscribe(filter, id)
    } catch (error) {
      // Subscriptions that are lost together with the server are restored with all others.
      if (this.#isConnected) this.#filters.delete(filter)
      throw error
    }
  }

  /** Ends subscriptions. Resolves when all messages that were sent for them have arrived. */
  async unsubscribe(filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.#filters.delete(filter)
    if (filters.length > 0 && this.#connection?.isOpen === true) await this.#connection.unsubscribe(filters)
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Publishes a message, behind those that wait for confirmations of the server. */
  publish(outgoing: Outgoing): void {
    if (outgoing.qos > 0) this.#given++
    else this.#isUncertain = true
    if (this.#waiting.length > 0 || (outgoing.qos > 0 && !this.#mayConfirmMore)) this.#waiting.push(outgoing)
    else this.#send(outgoing)
  }

  get #mayConfirmMore(): boolean {
    return this.#unconfirmed < Math.min(this.#connection?.receiveMaximum ?? 65_535, MOST_UNCONFIRMED)
  }

  #send({ told, ...packet }: Outgoing): void {
    const connection = this.#connection as DriverConnection
    if (packet.qos === 0) return connection.publish(packet)
    this.#unconfirmed++
    connection.publish(packet, (isHeard, refusal) => {
      if (this.#connection !== connection || !this.#isConnected) return
      this.#unconfirmed--
      this.#confirmed++
      told?.(isHeard, refusal)
      this.#sendMore()
    })
  }

  #sendMore(): void {
    if (this.#waiting.length > 0) {
      const waiting = this.#waiting
      let sent = 0
      for (const one of waiting) {
        if (one.qos > 0 && !this.#mayConfirmMore) break
        this.#send(one)
        sent++
      }
      this.#waiting = sent === waiting.length ? [] : waiting.slice(sent)
    }
    while (this.#flushing[0] !== undefined && this.#flushing[0].until <= this.#confirmed)
      this.#flushing.shift()?.resolve()
  }

  /**
   * Resolves when the server has received all that was published. Rejects if the server is lost before.
   * @param asks whether to wait for an answer of the server also when it has confirmed all that was published
   */
  async flush(asks = false): Promise<void> {
    const lost = () => new ConnectionError(`The connection to MQTT at ${this.#options.where} was lost`, true)
    if (!this.#isConnected) throw lost()
    if (this.#confirmed < this.#given)
      await new Promise<void>((resolve, reject) => {
        this.#flushing.push({ until: this.#given, resolve, reject: () => reject(lost()) })
      })
    if (this.#isUncertain || asks) {
      this.#isUncertain = false
      // The server answers in order, so the answer to this PING comes after all confirmations.
      this.#answered = (this.#connection as DriverConnection).ping().catch(() => {
        throw lost()
      })
    }
    await this.#answered
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    clearTimeout(this.#timer)
    const connection = this.#connection
    this.#connection = undefined
    await connection?.end()
  }

  async #connect(): Promise<void> {
    let connection: DriverConnection | undefined
    let isLost = false
    const { servers } = this.#options
    const server = servers[this.#next++ % servers.length] as MqttServer
    connection = await this.#driver.connect(server, this.#options, this.#clientId, {
      signal: this.#listener.signal,
      message: (topic, bytes, packet) => this.#listener.message(topic, bytes, packet),
      lost: (code) => {
        isLost = true
        if (connection !== undefined) this.#lost(connection, code)
      }
    })
    if (this.#isClosed) return connection.end()
    if (isLost) throw new Error('the server has ended the connection')
    this.#connection = connection
    this.#pauses.connected()
  }

  #lost(connection: DriverConnection, code: number | undefined): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#waiting = []
    this.#unconfirmed = 0
    this.#confirmed = this.#given
    const failed = this.#flushing
    this.#flushing = []
    this.#answered = Promise.resolve()
    for (const one of failed) one.reject(new Error('lost'))
    if (this.#isClosed || !this.#isConnected) return
    this.#isConnected = false
    // The connection may be lost again at once, if another connection has the same client id.
    this.#pauses.lost()
    this.#listener.lost(this.#why(code))
    this.#findLater()
  }

  /** Why the connection is lost, if another one seems to take its place again and again. */
  #why(code: number | undefined): string | undefined {
    if (code !== TAKEN_OVER && this.#pauses.brief < MOST_BRIEF) return undefined
    const verb = code === TAKEN_OVER ? 'has taken' : 'seems to have taken'
    return `another connection with the clientId '${this.#clientId}' ${verb} its place, and each takes it from the other without end; use each clientId for one service or client of one process only`
  }

  #findLater(): void {
    this.#timer = setTimeout(() => void this.#find(), this.#pauses.pause)
  }

  async #find(): Promise<void> {
    try {
      await this.#connect()
      const connection = this.#connection
      if (connection === undefined) throw new Error('lost')
      const all = [...this.#filters]
      await Promise.all(
        all.map(([filter, id]) =>
          connection.subscribe(filter, id).catch((error: Error) => {
            // If a subscription is refused while the connection lives, only this subscription fails.
            if (connection.isOpen) this.#listener.failed(error)
            else throw error
          })
        )
      )
      if (this.#connection !== connection) throw new Error('lost')
    } catch {
      if (this.#isClosed) return
      this.#pauses.failed()
      return this.#findLater()
    }
    if (this.#isClosed) return
    this.#isConnected = true
    this.#listener.restored()
  }
}
