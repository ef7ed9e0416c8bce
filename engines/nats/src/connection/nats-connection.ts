/** One connection of a client or service to NATS, over which calls travel. */

import {
  type Carried,
  type CarriedHeaders,
  type Carrier,
  type CarrierListener,
  HeldMessages,
  Room,
  type Sender,
  type Subject,
  type Words
} from '@elysia-microservices/engine'
import {
  endedWithin,
  ListenError,
  type MessageHeaders,
  OptionError
} from '@elysia-microservices/transport/kit'
import type { MsgHdrs } from '@nats-io/transport-node'
import type {
  Driver,
  DriverConnection,
  DriverListener,
  DriverSubscription,
  JetStream,
  Message,
  Receive
} from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { headersIn, readHeaders, writeHeaders } from '../words/headers.ts'
import { EVERYONE, type Inboxes, TOGETHER } from '../words/inboxes.ts'
import { isOfSystem, queueTogether } from '../words/subjects.ts'
import { bytesOf } from './bytes.ts'
import { connectFailure } from './failures.ts'

/** A connection that has been established. */
export class NatsConnection implements Carrier, DriverListener {
  readonly everyone = EVERYONE
  #driver!: DriverConnection
  readonly #listener: CarrierListener
  readonly #inboxes: Inboxes
  readonly #held: HeldMessages
  readonly #room: Room
  /** The subscriptions of a service. They end first when the service stops. */
  readonly #taken: DriverSubscription[] = []
  /** Subjects of which it does not matter if this user may not listen. */
  readonly #optional = new Set<string>()
  #isConnected = true
  #isClosing = false

  private constructor(inboxes: Inboxes, listener: CarrierListener) {
    this.#listener = listener
    this.#held = new HeldMessages(listener)
    this.#inboxes = inboxes
    this.#room = new Room(
      () => this.#driver.flush(),
      () => this.#isConnected
    )
  }

  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions['connection'],
    inboxes: Inboxes,
    listener: CarrierListener
  ): Promise<NatsConnection> {
    const connection = new NatsConnection(inboxes, listener)
    try {
      connection.#driver = await driver.connect(options, connection)
    } catch (error) {
      throw listener.signal?.aborted === true ? error : connectFailure(options, error)
    }
    return connection
  }

  get signal(): AbortSignal | undefined {
    return this.#listener.signal
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get server(): string {
    return this.#driver.server
  }

  get maxPayload(): number {
    return this.#driver.maxPayload
  }

  /** @throws JetStream is off, or does not answer */
  jetStream(): Promise<JetStream> {
    return this.#driver.jetStream()
  }

  newInbox(): string {
    return this.#inboxes.ofCalls()
  }

  /** A new inbox for JetStream's deliveries and confirmations. Callers need no right to publish to it. */
  newStoreInbox(): string {
    return this.#inboxes.ofStore()
  }

  isInbox(address: string): boolean {
    return this.#inboxes.has(address)
  }

  togetherAt(address: string): string {
    return TOGETHER + address
  }

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders): void {
    if (headers === undefined) this.send(address, words, reply)
    else {
      let written: MsgHdrs
      try {
        written = writeHeaders(headers)
      } catch (error) {
        if (error instanceof OptionError) throw error
        return this.#listener.unpublished(address, error as Error)
      }
      this.send(address, words, reply, written)
    }
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    this.publish(address, packet, reply, headers)
  }

  /** Publishes with the driver's headers. While there is no server, the message is kept and sent later. */
  send(subject: string, words: Words, reply?: string, headers?: MsgHdrs): void {
    if (!this.#isConnected)
      return this.#held.hold(subject, words.length, () => this.send(subject, words, reply, headers))
    try {
      const bytes = typeof words === 'string' ? bytesOf(words) : words
      this.#driver.publish(subject, bytes, reply, headers)
      this.#room.use(bytes.length)
    } catch (error) {
      this.#listener.unpublished(subject, error as Error)
    }
  }

  listen(address: string, receive: (message: Carried) => void, refused?: (error: Error) => void): void {
    const subject = address.endsWith('.') ? `${address}>` : address
    this.subscribe(subject, undefined, (error, message) => {
      if (error === null) receive(new NatsMessage(message))
      else refused?.(error)
    })
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    let refusal: Error | undefined
    for (const subject of subjects) {
      const isWide = /^[*>]/.test(subject.address)
      const taken = this.subscribe(subject.address, subject.queue, (error, message) => {
        if (error !== null) refusal ??= error
        else if (!isWide || !isOfSystem(message.subject)) receive(subject, new NatsMessage(message))
      })
      this.#taken.push(taken)
      if (subject.queue !== undefined) this.#taken.push(this.#takeTogether(subject, receive))
    }
    await this.flush().catch(() => {})
    if (refusal !== undefined) throw new ListenError(`NATS at ${this.server}`, refusal)
  }

  /**
   * Receives requests that a client has sent together as one message. A user without the right to listen here gets
   * the requests one by one.
   * The subscription has a queue group of its own. NATS gives a message to one member of a queue group, whatever
   * subject the member has subscribed to: in the service's queue group, a handler of `>` would get these messages,
   * and drops them as subjects of the system.
   */
  #takeTogether(subject: Subject, receive: (subject: Subject, message: Carried) => void): DriverSubscription {
    const queue = queueTogether(subject.queue as string)
    return this.subscribe(TOGETHER + subject.address, queue, (error, message) => {
      if (error === null) receive(subject, new NatsMessage(message, TOGETHER.length))
    })
  }

  async leave(): Promise<void> {
    await Promise.allSettled(this.#taken.map((one) => one.drain()))
  }

  hasRoomFor(sender: Sender): boolean {
    return this.#room.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    setImmediate(task)
  }

  /** Subscribes with the driver. Exceptions of `receive` are caught: they would stop the driver. */
  subscribe(subject: string, queue: string | undefined, receive: Receive): DriverSubscription {
    const callback: Receive = (error, message) => {
      try {
        receive(error, message)
      } catch (cause) {
        this.#listener.failed(cause)
      }
    }
    return this.#driver.subscribe(subject, queue, callback)
  }

  /** Subscribes for what also goes without: only `receive` gets to know that this user has no right to. */
  subscribeIfAllowed(subject: string, queue: string, receive: Receive): DriverSubscription {
    this.#optional.add(subject)
    return this.subscribe(subject, queue, receive)
  }

  flush(): Promise<void> {
    return this.#driver.flush()
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    // A server that stands still must not keep the process from ending.
    if (this.#isConnected) await endedWithin(this.#driver.flush()).catch(() => {})
    await this.#driver.close()
  }

  lost(): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    if (!this.#isClosing) this.#listener.lost()
  }

  restored(): void {
    this.#isConnected = true
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }

  refused(subject: string, operation: 'publish' | 'listen', error: Error): void {
    if (operation === 'publish' || !this.#optional.has(subject))
      this.#listener.refused(subject, operation, error)
  }

  ended(error: Error | undefined): void {
    this.#isConnected = false
    if (!this.#isClosing) this.#listener.ended(error)
  }
}

/** A message of the driver, whose parts are decoded only when they are asked for. */
class NatsMessage implements Carried {
  readonly #message: Message
  readonly words: Uint8Array

  readonly #prefix: number

  /** @param prefix characters of the subject in front of the address */
  constructor(message: Message, prefix = 0) {
    this.#message = message
    this.#prefix = prefix
    // `data` is read once, because the driver makes a new view at each access.
    this.words = message.data
  }

  get address(): string {
    const { subject } = this.#message
    return this.#prefix === 0 ? subject : subject.slice(this.#prefix)
  }

  get reply(): string {
    return this.#message.reply ?? ''
  }

  get headers(): MessageHeaders | undefined {
    return readHeaders(this.#message.headers)
  }

  get isNobody(): boolean {
    return this.words.length === 0 && headersIn(this.#message)?.code === 503
  }
}
