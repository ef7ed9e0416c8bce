/**
 * One connection to RabbitMQ: sends and receives messages, by the exchanges and queues of this library and those that
 * NestJS uses.
 */
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
} from '@elysia-microservices/engine'
import { ConnectionError, endedWithin } from '@elysia-microservices/transport/kit'
import { CHANNEL_CLOSED, type Driver, type Properties, type Returned } from '../driver.ts'
import type { CheckedOptions, NestQueue } from '../options/options.ts'
import {
  CALLS,
  EVERYONE,
  inboxOf,
  isInbox,
  queueOfInbox,
  readNestAnswer,
  replyOf,
  routeOfKey
} from '../words/names.ts'
import { Attendance, isRefusal } from './attendance.ts'
import { haveExchanges } from './exchanges.ts'
import { Inboxes, listenToAll } from './inboxes.ts'
import { Link, type Part } from './link.ts'
import { type Outgoing, outgoingCopy, outgoingEvent, outgoingOf } from './outgoing.ts'
import { SharedQueue } from './shared-queue.ts'
import { Taking } from './taking.ts'

/** Bytes of a message; a larger message is sent in parts: RabbitMQ 4 refuses larger messages by default. */
const MAX_PAYLOAD = 16 * 1024 * 1024
/** Addresses that are remembered between two confirmations of the server. */
const MAX_RECENT = 1_024
/**
 * Milliseconds for which durable events are not sent to handlers that are not durable, after it was seen that there
 * are none.
 */
const UNHEARD_FOR = 100

type Receive = (message: Carried) => void

/** A connection that has been established. */
export class RabbitConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly maxPayload = MAX_PAYLOAD
  readonly link: Link
  readonly #options: CheckedOptions
  readonly #listener: CarrierListener
  readonly #held: HeldMessages
  readonly #room: Room
  /** The listeners at the addresses of this connection. */
  readonly hearing: Hearing
  readonly #nest: NestQueue | undefined
  readonly #attendance: Attendance | undefined
  /** The queue shared with NestJS, unless an exchange leads to it. */
  readonly #shared: SharedQueue | undefined
  /** Why events of the last moment were not sent. */
  #unsent: Error | undefined
  #out: Pick<Part, 'channel'> = { channel: undefined }
  #taking: Taking | undefined
  readonly #inboxes: Inboxes
  /** The addresses to which messages were published since the last confirmation of the server. */
  readonly #recent = new Set<string>()
  /**
   * For each address: until this time, durable events are not sent to other handlers, because there were none for the
   * last event.
   */
  readonly #unheardUntil = new Map<string, number>()
  /** Calls that wait for the answer whether somebody consumes their queue. */
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
    const queue = options.nest?.exchange === undefined ? options.nest : undefined
    this.#attendance = queue && new Attendance(link, queue.name)
    this.#shared = queue && new SharedQueue(link, queue)
    this.#room = new Room(
      () => this.flush(),
      () => this.isConnected
    )
  }

  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached, or the server refuses the connection or does not answer
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    name: string | undefined,
    listener: CarrierListener
  ): Promise<RabbitConnection> {
    let connection: RabbitConnection | undefined
    const link = await Link.open(driver, options, name, {
      signal: listener.signal,
      lost: () => connection?.lost(),
      restored: () => connection?.restored(),
      halted: (reason) => listener.halted?.(reason),
      failed: (error) => listener.failed(error)
    })
    connection = new RabbitConnection(link, options, listener)
    try {
      await connection.#openOut()
    } catch (error) {
      await link.close()
      // The server has not answered, which is no refusal.
      if (error instanceof ConnectionError) throw error
      throw new ConnectionError(
        `RabbitMQ at ${link.server} does not let this user create the exchanges ${CALLS}*, which do not exist, or use them: ${(error as Error).message}; import them, or give the user these permissions`,
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

  /**
   * The address for several requests in one message. Only services of this library receive from their exchange; a
   * queue shared with NestJS may have other consumers, which cannot read such a message.
   */
  togetherAt(address: string): string | undefined {
    return this.#nest === undefined ? address : undefined
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  async #openOut(): Promise<void> {
    this.#out = await this.link.open(
      async (channel) => {
        await haveExchanges(this.link, channel)
        channel.whenReturned((message) => this.#returned(message))
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
    const outgoing = outgoingEvent(this.#nest, address, packet, reply, headers)
    if (this.#shared === undefined) this.#send(outgoing)
    else this.#sendWhenThere(this.#shared, outgoing)
  }

  /** Sends an event to a queue shared with NestJS, in which it waits for a service. */
  #sendWhenThere(shared: SharedQueue, outgoing: Outgoing): void {
    this.#askFirst(shared, outgoing, (failure) => {
      if (failure === undefined) this.#send(outgoing)
      else this.#unsent = failure
    })
  }

  /**
   * Sends a request to a queue shared with NestJS only if somebody consumes the queue: otherwise the request would
   * wait for a service that may start much later.
   */
  #sendIfAttended(attendance: Attendance, outgoing: Outgoing, reply: string): void {
    this.#askFirst(attendance, outgoing, (isAttended) => {
      if (isAttended === true) this.#send(outgoing)
      else if (isAttended === false) this.#nobody(reply)
      else if (isRefusal(isAttended)) this.#listener.refused(outgoing.address, 'publish', isAttended)
    })
  }

  /** Asks the server before a message is sent. If the server is lost meanwhile, the message is, too. */
  #askFirst<Answer>(
    question: { ask(told: (answer: Answer) => void): void },
    outgoing: Outgoing,
    told: (answer: Answer) => void
  ): void {
    const { address, words } = outgoing
    // Without a server, the question is asked when there is one.
    if (!this.isConnected)
      return this.#held.hold(address, words.length, () => this.#askFirst(question, outgoing, told))
    const losses = this.#losses
    this.#asked++
    question.ask((answer) => {
      if (losses === this.#losses) told(answer)
      this.#answered()
    })
  }

  /** Counts down after one call was answered. After the last one, those who wait for all calls go on. */
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
      // The driver knows already that the server is lost, and will report it in a moment.
      if ((error as Error).name === CHANNEL_CLOSED) return
      throw error
    }
    if (this.#recent.size < MAX_RECENT) this.#recent.add(address)
    this.#room.use(bytes.length)
  }

  /** Handles that the server returns a message, because no queue takes it. */
  #returned({ fields, properties: { messageId, replyTo, correlationId } }: Returned): void {
    const asked = typeof messageId === 'string' && isInbox(messageId)
    const reply = asked ? messageId : replyOf(replyTo, correlationId, [])
    if (reply !== '') return this.#nobody(reply)
    if (this.#unheardUntil.size >= MAX_RECENT) this.#unheardUntil.clear()
    this.#unheardUntil.set(routeOfKey(fields.routingKey), performance.now() + UNHEARD_FOR)
  }

  /** Tells the sender of a request, at its own reply address, that nobody has received the request. */
  #nobody(address: string): void {
    if (isInbox(address)) this.hearing.nobody(queueOfInbox(address), address)
  }

  /** Handles that the server has closed the channel, because this user may not publish to one of the addresses. */
  #refused(error: Error): void {
    for (const address of this.#recent) this.#listener.refused(address, 'publish', error)
    this.#recent.clear()
    // Later messages on the same channel are lost, too, and it is not known which.
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

  /** Whether a queue exists. @throws the server refuses to answer */
  async hasQueue(name: string): Promise<boolean> {
    try {
      await this.link.aside((channel) => channel.checkQueue(name))
      return true
    } catch (error) {
      if (/404|NOT_FOUND/.test((error as Error).message)) return false
      throw error
    }
  }

  /** Publishes a durable event to handlers that are not durable, too, unless it was just seen that there are none. */
  tell(address: string, words: Words, headers: Properties['headers']): void {
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
    // The server handles the commands of a channel in order, so the answer to this harmless command comes after all
    // published messages. `prefetch` changes nothing on a channel without consumers.
    await this.#out.channel?.prefetch(0).catch(() => {})
    if (losses !== this.#losses || !this.isConnected)
      throw new ConnectionError(`The connection to RabbitMQ at ${this.server} was lost`, true)
    this.#recent.clear()
    const unsent = this.#unsent
    this.#unsent = undefined
    if (unsent !== undefined) throw unsent
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    const flushed = async () => {
      if (!this.isConnected) return
      await this.#inboxes.deafen()
      await this.flush()
    }
    // While the server has no memory or disk space left, it answers nothing to a connection that publishes.
    await endedWithin(flushed(), this.link.heartbeat).catch(() => {})
    this.#isClosing = true
    await this.link.close()
  }

  /** The server is lost. */
  lost(): void {
    this.#losses++
    this.#attendance?.forget()
    this.#shared?.forget()
    this.#recent.clear()
    this.#taking?.lost()
    this.#inboxes.lost()
    for (const settled of this.#settled.splice(0)) settled()
    if (!this.#isClosing) this.#listener.lost()
  }

  /** There is a server again, and everything is declared again. */
  restored(): void {
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }
}
