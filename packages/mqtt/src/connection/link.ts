/**
 * An MQTT server by mqtt.js: one connection that is looked for again for ever, and what is subscribed over it. The only
 * place that knows how the driver connects, loses its server and finds it again.
 */
import type { Socket } from 'node:net'
import { Reconnecting } from '@elysia-microservices/transport/engine'
import { ConnectionError, endedWithin } from '@elysia-microservices/transport/kit'
import mqtt, { type IConnackPacket, type IPublishPacket, type MqttClient } from 'mqtt'
import type { CheckedOptions } from '../options/options.ts'
import { connectFailure } from './failures.ts'

/** Milliseconds between attempts. */
const AGAIN_AFTER = { minDelay: 100, maxDelay: 2_000 }
/** Messages whose arrival the server has not confirmed, at most; it may want fewer. */
const MOST_UNCONFIRMED = 1_024
/** A message to which nobody has subscribed. */
const NOBODY = 16
/** Nobody subscribes to this topic. */
const NOTHING = '_elysia/nothing'

/** Is told what becomes of a link. */
export interface LinkListener {
  lost(): void
  restored(): void
  message(topic: string, bytes: Buffer, packet: IPublishPacket): void
  /** The server refuses a subscription that it had. */
  failed(error: Error): void
}

/** A message on its way out. */
export interface Outgoing {
  readonly topic: string
  readonly payload: string | Buffer
  readonly qos: 0 | 1 | 2
  readonly retain?: boolean
  readonly properties?: IPublishPacket['properties']
  /** The server has it, nobody has subscribed to it, or it is refused. Only with a quality of service. */
  readonly told?: (isHeard: boolean, refusal: Error | undefined) => void
}

/** The connection of one end. */
export class Link {
  readonly #options: CheckedOptions
  readonly #clientId: string
  readonly #listener: LinkListener
  /** Identifiers of subscriptions, by filter. */
  readonly #filters = new Map<string, number | undefined>()
  #driver: MqttClient | undefined
  #connack: IConnackPacket | undefined
  #isConnected = false
  #isClosed = false
  readonly #pauses = new Reconnecting(AGAIN_AFTER)
  #timer: ReturnType<typeof setTimeout> | undefined

  #waiting: Outgoing[] = []
  #unconfirmed = 0
  #sent = 0
  #isHurrying = false
  /** Messages that are confirmed, of all that have been given with a quality of service. */
  #confirmed = 0
  #given = 0
  /** Something has been sent that is not confirmed by itself. */
  #isUncertain = false
  #nobody = new Set<number>()
  #flushing: { readonly until: number; resolve(): void; reject(error: Error): void }[] = []
  #pings: (Pong | undefined)[] = []
  #asked: Pong | undefined

  private constructor(options: CheckedOptions, clientId: string, listener: LinkListener) {
    this.#options = options
    this.#clientId = clientId
    this.#listener = listener
  }

  /**
   * Connects.
   * @throws {ConnectionError} the server cannot be reached, or has not what we need
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(options: CheckedOptions, clientId: string, listener: LinkListener): Promise<Link> {
    const link = new Link(options, clientId, listener)
    try {
      await link.#connect()
    } catch (error) {
      throw connectFailure(options.where, error as Error & { code?: unknown })
    }
    link.#isConnected = true
    return link
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Bytes of the largest message that the server takes; `Infinity`: it does not say. */
  get maximumPacketSize(): number {
    return this.#connack?.properties?.maximumPacketSize ?? Number.POSITIVE_INFINITY
  }

  // ── subscriptions ────────────────────────────────────────────────────────────────────────────────────

  /** Subscribes, again whenever the server was lost. @param id comes with what is received for this filter */
  async subscribe(filter: string, id?: number): Promise<void> {
    this.#filters.set(filter, id)
    if (this.#driver === undefined || !this.#driver.connected) return
    try {
      await this.#subscribeNow(this.#driver, filter, id)
    } catch (error) {
      // Subscriptions that are lost with the server are set up again with all others.
      if (this.#isConnected) this.#filters.delete(filter)
      throw error
    }
  }

  #subscribeNow(driver: MqttClient, filter: string, id: number | undefined): Promise<unknown> {
    return settled(driver, (done) =>
      driver.subscribe(
        filter,
        { qos: 0, ...(id !== undefined && { properties: { subscriptionIdentifier: id } }) },
        done
      )
    )
  }

  /** Ends subscriptions. Resolves when all that was sent for them has come. */
  async unsubscribe(filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.#filters.delete(filter)
    const driver = this.#driver
    if (filters.length > 0 && driver?.connected === true)
      await settled(driver, (done) => driver.unsubscribe([...filters], done))
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Publishes, behind what waits until the server has confirmed more. */
  publish(outgoing: Outgoing): void {
    if (outgoing.qos > 0) this.#given++
    else this.#isUncertain = true
    if (this.#waiting.length > 0 || (outgoing.qos > 0 && !this.#mayConfirmMore)) this.#waiting.push(outgoing)
    else this.#send(outgoing)
  }

  get #mayConfirmMore(): boolean {
    return this.#unconfirmed < Math.min(this.#connack?.properties?.receiveMaximum ?? 65_535, MOST_UNCONFIRMED)
  }

  #send({ topic, payload, qos, retain = false, properties, told }: Outgoing): void {
    const driver = this.#driver as MqttClient
    const options = properties === undefined ? { qos, retain } : { qos, retain, properties }
    this.#sent++
    if (qos === 0) return void driver.publish(topic, payload, options)
    this.#unconfirmed++
    driver.publish(topic, payload, options, (error, packet) => {
      if (this.#driver !== driver || !this.#isConnected) return
      this.#unconfirmed--
      this.#confirmed++
      // The driver gives what was published, and not what the server has said to it.
      const isNobody = packet?.messageId !== undefined && this.#nobody.delete(packet.messageId)
      told?.(!isNobody, error ?? undefined)
      this.#sendMore()
    })
  }

  /**
   * A server that gathers what it writes, as mosquitto does unless it is told not to, sends nothing more until the
   * packet before has arrived, and systems say so 40 ms later unless something goes back by itself: a request took 45 ms
   * then, and takes 2 with this; a stream had 26,000 values a second, and has 1.8 million. It is sent only if nothing
   * else is.
   */
  #hurry(): void {
    if (this.#isHurrying) return
    this.#isHurrying = true
    const sent = this.#sent
    setImmediate(() => {
      this.#isHurrying = false
      if (sent === this.#sent && this.#isConnected) this.#driver?.publish(NOTHING, '')
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

  /** Resolves when the server has all that was published. Rejects if it is lost before. */
  async flush(): Promise<void> {
    const lost = () => new ConnectionError(`The connection to MQTT at ${this.#options.where} was lost`, true)
    if (!this.#isConnected) throw lost()
    if (this.#confirmed < this.#given)
      await new Promise<void>((resolve, reject) => {
        this.#flushing.push({ until: this.#given, resolve, reject: () => reject(lost()) })
      })
    if (!this.#isUncertain) return
    this.#isUncertain = false
    // The server answers in order.
    await new Promise<void>((resolve, reject) => {
      this.#asked = { resolve, reject: () => reject(lost()) }
      this.#driver?.sendPing()
    })
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    clearTimeout(this.#timer)
    const driver = this.#driver
    this.#driver = undefined
    if (driver === undefined) return
    // A server that does not answer is not waited for.
    await endedWithin(
      driver.endAsync(false).catch(() => {}),
      1_000
    )
    driver.stream.destroy()
  }

  #connect(): Promise<void> {
    const { protocol, host, port, username, password, tls, timeout, will } = this.#options
    const driver = mqtt.connect({
      ...(tls as object),
      protocol,
      host,
      port,
      clientId: this.#clientId,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      protocolVersion: 5,
      clean: true,
      // Otherwise the driver sends again what was lost, in another order, and for ever.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      connectTimeout: timeout,
      keepalive: Math.max(1, Math.round(timeout / 1_000)),
      ...(will !== undefined && {
        will: {
          topic: will.pattern,
          payload: Buffer.from(JSON.stringify({ pattern: will.pattern, data: will.data })),
          qos: 1 as const,
          retain: will.retain ?? false,
          properties: { willDelayInterval: will.delay ?? 0 }
        }
      }),
      // A will that waits needs a session that is there so long.
      properties: { sessionExpiryInterval: will?.delay ?? 0 }
    })
    driver.setMaxListeners(0)
    const socket = driver.stream as Partial<Socket>
    socket.setNoDelay?.(true)
    return new Promise((resolve, reject) => {
      let failure: Error | undefined
      // An error event without a listener would end the process.
      driver.on('error', (error) => {
        failure ??= error
        if (!driver.connected) driver.stream?.destroy()
      })
      driver.once('connect', (connack) => {
        if (this.#isClosed) return driver.stream.destroy()
        this.#driver = driver
        this.#connack = connack
        this.#pauses.connected()
        resolve()
      })
      driver.once('close', () => {
        reject(failure ?? new Error('the server has ended the connection'))
        this.#lost(driver)
      })
      driver.on('packetreceive', (packet) => {
        if (packet.cmd === 'puback' && packet.reasonCode === NOBODY)
          this.#nobody.add(packet.messageId as number)
        else if (packet.cmd === 'pingresp') this.#pings.shift()?.resolve()
        // Subscribers of `#` hear it, too, and would answer each other for ever.
        const isNothing = packet.cmd === 'publish' && packet.topic === NOTHING
        if (packet.cmd !== 'connack' && !isNothing) this.#hurry()
      })
      driver.on('packetsend', (packet) => {
        if (packet.cmd !== 'pingreq') return
        // The driver asks by itself, too.
        this.#pings.push(this.#asked)
        this.#asked = undefined
      })
      driver.on('message', (topic, bytes, packet) => this.#listener.message(topic, bytes, packet))
    })
  }

  #lost(driver: MqttClient): void {
    if (this.#driver !== driver) return
    this.#driver = undefined
    this.#waiting = []
    this.#nobody.clear()
    this.#unconfirmed = 0
    this.#confirmed = this.#given
    const failed = [...this.#flushing, ...this.#pings, this.#asked]
    this.#flushing = []
    this.#pings = []
    this.#asked = undefined
    for (const one of failed) one?.reject(new Error('lost'))
    if (this.#isClosed || !this.#isConnected) return
    this.#isConnected = false
    this.#listener.lost()
    // Perhaps at once again: another connection may have its client id.
    this.#pauses.lost()
    this.#findLater()
  }

  #findLater(): void {
    this.#timer = setTimeout(() => void this.#find(), this.#pauses.pause)
  }

  async #find(): Promise<void> {
    try {
      await this.#connect()
      const driver = this.#driver as MqttClient | undefined
      if (driver === undefined) throw new Error('lost')
      const all = [...this.#filters]
      await Promise.all(
        all.map(([filter, id]) =>
          this.#subscribeNow(driver, filter, id).catch((error: Error) => {
            // A subscription that is refused while the connection lives fails alone.
            if (driver.connected) this.#listener.failed(error)
            else throw error
          })
        )
      )
      if (this.#driver !== driver) throw new Error('lost')
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

interface Pong {
  resolve(): void
  reject(error: Error): void
}

/** Rejects when the connection is lost: the driver does not settle its call then. */
function settled(driver: MqttClient, act: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = () => reject(new ConnectionError('The connection to MQTT was lost', true))
    driver.once('close', closed)
    act((error) => {
      driver.removeListener('close', closed)
      if (error) reject(error)
      else resolve()
    })
  })
}
