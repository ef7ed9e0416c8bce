/** One connection to RabbitMQ: who gets what, by our exchanges and queues, and by Nest's. */
import {
  type Carried,
  type CarriedHeaders,
  type Carrier,
  type CarrierListener,
  Hearing,
  HeldMessages,
  newSecret,
  Room,
  type Sender,
  type Subject,
  type Words
} from '@elysia-microservices/transport/engine'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Message, Options } from 'amqplib'
import type { CheckedOptions, NestQueue } from '../options/options.ts'
import {
  CALLS,
  EVENTS,
  EVERYONE,
  INBOXES,
  inboxOf,
  isInbox,
  queueOfInbox,
  readNestAnswer,
  replyOf,
  routeOfKey,
  STORED
} from '../words/names.ts'
import { Attendance, isRefusal } from './attendance.ts'
import { Inboxes, listenToAll } from './inboxes.ts'
import { Link, type Part } from './link.ts'
import { type Outgoing, outgoingCopy, outgoingEvent, outgoingOf } from './outgoing.ts'
import { Taking } from './taking.ts'

/** Bytes from which a message travels in parts: RabbitMQ 4 takes no larger ones, unless it is told to. */
const MAX_PAYLOAD = 16 * 1024 * 1024
/** Addresses that are remembered since the server has confirmed something. */
const MAX_RECENT = 1_024
/** Milliseconds for which plain handlers of a stored event may be missing where there were none. */
const UNHEARD_FOR = 100

type Receive = (message: Carried) => void

/** A connection that has been made. */
export class RabbitConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly maxPayload = MAX_PAYLOAD
  readonly link: Link
  readonly #options: CheckedOptions
  readonly #listener: CarrierListener
  readonly #held: HeldMessages
  readonly #room: Room
  /** The listeners at our own addresses. */
  readonly hearing: Hearing
  readonly #nest: NestQueue | undefined
  readonly #attendance: Attendance | undefined
  #out: Pick<Part, 'channel'> = { channel: undefined }
  #taking: Taking | undefined
  readonly #inboxes: Inboxes
  /** Where was published since the server has confirmed something. */
  readonly #recent = new Set<string>()
  /** Until when stored events are not sent to an address, too, because nobody has heard the last one there. */
  readonly #unheardUntil = new Map<string, number>()
  /** Messages that wait to be told whether somebody listens. */
  #asked = 0
  #settled: (() => void)[] = []
  #losses = 0
  #isClosing = false

  private constructor(link: Link, options: CheckedOptions, listener: CarrierListener) {
    this.link = link
    this.#options = options
    this.#listener = listener
    this.#held = new HeldMessages(listener)
    this.hearing = new Hearing(listener)
    this.#inboxes = new Inboxes(link, this.hearing)
    this.#nest = options.nest
    this.#attendance =
      options.nest === undefined || options.nest.exchange !== undefined
        ? undefined
        : new Attendance(link, options.nest.name)
    this.#room = new Room(
      () => this.flush(),
      () => this.isConnected
    )
  }

  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached, or it does not let us in
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    options: CheckedOptions,
    name: string | undefined,
    listener: CarrierListener
  ): Promise<RabbitConnection> {
    let connection: RabbitConnection | undefined
    const link = await Link.open(options, name, {
      lost: () => connection?.lost(),
      restored: () => connection?.restored(),
      failed: (error) => listener.failed(error)
    })
    connection = new RabbitConnection(link, options, listener)
    try {
      await connection.#openOut()
    } catch (error) {
      await link.close()
      throw new ConnectionError(
        `RabbitMQ at ${link.server} does not let this user make or use the exchanges ${CALLS}*: ${(error as Error).message}; give it the permissions`,
        false,
        error
      )
    }
    return connection
  }

  get isConnected(): boolean {
    return this.link.isConnected && this.#out.channel !== undefined
  }

  get server(): string {
    return this.link.server
  }

  newInbox(): string {
    return inboxOf(newSecret() + newSecret())
  }

  isInbox(address: string): boolean {
    return isInbox(address) || readNestAnswer(address) !== undefined
  }

  /** Only our services are bound to our exchange; a queue of Nest's may have others, too. */
  togetherAt(address: string): string | undefined {
    return this.#nest === undefined ? address : undefined
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  async #openOut(): Promise<void> {
    this.#out = await this.link.open(
      async (channel) => {
        await channel.assertExchange(CALLS, 'topic')
        await channel.assertExchange(STORED, 'topic')
        await channel.assertExchange(EVENTS, 'fanout')
        await channel.assertExchange(INBOXES, 'direct')
        await channel.assertExchange(EVERYONE, 'fanout')
        await channel.bindExchange(CALLS, EVENTS, '')
        await channel.bindExchange(STORED, EVENTS, '')
        channel.on('return', (message: Message) => this.#returned(message))
      },
      { alone: { closed: (error) => this.#refused(error), reopened: () => this.restored() } }
    )
  }

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void {
    const outgoing = outgoingOf(this.#nest, address, words, reply, headers, expires)
    if (outgoing.isToNest === true && this.#attendance !== undefined)
      this.#sendIfAttended(this.#attendance, outgoing, reply ?? '')
    else this.#send(outgoing)
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    this.#send(outgoingEvent(this.#nest, address, packet, reply, headers))
  }

  /** A request does not go where it would wait for a service that may come much later. */
  #sendIfAttended(attendance: Attendance, outgoing: Outgoing, reply: string): void {
    const { address, words } = outgoing
    // Without a server it is asked when there is one.
    if (!this.isConnected)
      return this.#held.hold(address, words.length, () => this.#sendIfAttended(attendance, outgoing, reply))
    const losses = this.#losses
    this.#asked++
    attendance.ask((isAttended) => {
      if (losses === this.#losses) {
        if (isAttended === true) this.#send(outgoing)
        else if (isAttended === false) this.#nobody(reply)
        else if (isRefusal(isAttended)) this.#listener.refused(address, 'publish', isAttended)
      }
      this.#answered()
    })
  }

  /** One call that was asked is over; after the last one, those who wait for all of them go on. */
  #answered(): void {
    if (--this.#asked === 0) for (const settled of this.#settled.splice(0)) settled()
  }

  #send(outgoing: Outgoing): void {
    const { exchange, key, words, options, address } = outgoing
    const channel = this.isConnected ? this.#out.channel : undefined
    if (channel === undefined) return this.#held.hold(address, words.length, () => this.#send(outgoing))
    const bytes =
      typeof words === 'string'
        ? Buffer.from(words)
        : Buffer.from(words.buffer, words.byteOffset, words.length)
    try {
      channel.publish(exchange, key, bytes, options)
    } catch (error) {
      // The driver knows already that the server is lost, and says so in a moment.
      if ((error as Error).name === 'IllegalOperationError') return
      throw error
    }
    if (this.#recent.size < MAX_RECENT) this.#recent.add(address)
    this.#room.use(bytes.length)
  }

  /** Nobody listens where a message was published that wants to know. */
  #returned({ fields, properties: { messageId, replyTo, correlationId } }: Message): void {
    const asked = typeof messageId === 'string' && isInbox(messageId)
    const reply = asked ? messageId : replyOf(replyTo, correlationId, [])
    if (reply !== '') return this.#nobody(reply)
    if (this.#unheardUntil.size >= MAX_RECENT) this.#unheardUntil.clear()
    this.#unheardUntil.set(routeOfKey(fields.routingKey), performance.now() + UNHEARD_FOR)
  }

  /** Tells one of our own addresses that nobody has got what it has asked. */
  #nobody(address: string): void {
    if (isInbox(address)) this.hearing.nobody(queueOfInbox(address), address)
  }

  /** The server has closed the channel, because somebody published where this user may not. */
  #refused(error: Error): void {
    for (const address of this.#recent) this.#listener.refused(address, 'publish', error)
    this.#recent.clear()
    // Messages behind it on their way are lost, too, and it is not known which.
    this.lost()
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  listen(address: string, receive: Receive, refused?: (error: Error) => void): void {
    const listening =
      address === EVERYONE
        ? listenToAll(this.link, this.hearing, receive)
        : this.#inboxes.open(address, receive)
    const settled = listening.catch((error: Error) => {
      if (this.isConnected) refused?.(error)
    })
    this.#asked++
    void settled.finally(() => this.#answered())
  }

  /** Whether a queue is there. @throws the server refuses to say it */
  async hasQueue(name: string): Promise<boolean> {
    try {
      await this.link.aside((channel) => channel.checkQueue(name))
      return true
    } catch (error) {
      if (/404|NOT_FOUND/.test((error as Error).message)) return false
      throw error
    }
  }

  /** Publishes a stored event for plain handlers, too, unless it was just said that there are none. */
  tell(address: string, words: Words, headers: Options.Publish['headers']): void {
    if (performance.now() < (this.#unheardUntil.get(address) ?? 0)) return
    this.#send(outgoingCopy(address, words, headers))
  }

  take(subjects: readonly Subject[], receive: (subject: Subject, message: Carried) => void): Promise<void> {
    this.#taking = new Taking({
      carrier: this,
      link: this.link,
      hearing: this.hearing,
      options: this.#options,
      subjects,
      receive
    })
    return this.#taking.start()
  }

  async leave(): Promise<void> {
    await this.#taking?.leave()
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  hasRoomFor(sender: Sender): boolean {
    return this.#room.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    setImmediate(task)
  }

  async flush(): Promise<void> {
    const losses = this.#losses
    while (this.#asked > 0 && this.isConnected)
      await new Promise<void>((resolve) => this.#settled.push(resolve))
    // A channel does in order what it is asked; this changes nothing on one where nothing is consumed.
    await this.#out.channel?.prefetch(0).catch(() => {})
    if (losses !== this.#losses || !this.isConnected)
      throw new ConnectionError(`The connection to RabbitMQ at ${this.server} was lost`, true)
    this.#recent.clear()
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    if (this.isConnected) {
      await this.#inboxes.deafen()
      await this.flush().catch(() => {})
    }
    this.#isClosing = true
    await this.link.close()
  }

  /** The server is lost. */
  lost(): void {
    this.#losses++
    this.#attendance?.forget()
    this.#recent.clear()
    this.#taking?.lost()
    this.#inboxes.lost()
    for (const settled of this.#settled.splice(0)) settled()
    if (!this.#isClosing) this.#listener.lost()
  }

  /** There is a server again, with all that was declared. */
  restored(): void {
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }
}
