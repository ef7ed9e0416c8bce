/** One connection to NATS. No other file knows how the driver connects, loses its server and finds another server. */

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
  ConnectionError,
  endedWithin,
  type Headers,
  ListenError,
  OptionError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import {
  connect,
  type NatsConnection as DriverConnection,
  errors,
  type Msg,
  type MsgHdrs,
  type NodeConnectionOptions,
  type Subscription
} from '@nats-io/transport-node'
import { headersIn, readHeaders, writeHeaders } from '../words/headers.ts'
import { EVERYONE, type Inboxes, TOGETHER } from '../words/inboxes.ts'
import { isOfSystem, queueTogether } from '../words/subjects.ts'
import { bytesOf } from './bytes.ts'

/**
 * Bytes after which the driver writes what it has collected in a turn of the event loop. The driver's own limit is
 * twice as large, about as much as a hundred small requests of one turn: they would all be written together, and
 * client, server and service would wait for each other in turn. The driver reads this option although its types lack
 * it.
 */
const EARLY_WRITES: object = { pendingLimit: 16 * 1024 }

/** The callback that NATS's driver calls with each message, or with an error. */
export type Receive = (error: Error | null, message: Msg) => void

/** A connection that has been established. */
export class NatsConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly #driver: DriverConnection
  readonly #listener: CarrierListener
  readonly #inboxes: Inboxes
  readonly #held: HeldMessages
  readonly #room: Room
  /** The subscriptions of a service. They end first when the service stops. */
  readonly #taken: Subscription[] = []
  #isConnected = true
  #isClosing = false

  private constructor(driver: DriverConnection, inboxes: Inboxes, listener: CarrierListener) {
    this.#driver = driver
    this.#listener = listener
    this.#held = new HeldMessages(listener)
    this.#inboxes = inboxes
    this.#room = new Room(
      () => driver.flush(),
      () => this.#isConnected
    )
    void this.#watch()
  }

  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    options: NodeConnectionOptions,
    inboxes: Inboxes,
    listener: CarrierListener
  ): Promise<NatsConnection> {
    try {
      return new NatsConnection(await connect({ ...EARLY_WRITES, ...options }), inboxes, listener)
    } catch (error) {
      throw connectFailure(options, error)
    }
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get server(): string {
    return this.#driver.getServer()
  }

  get maxPayload(): number {
    return this.#driver.info?.max_payload ?? 1024 * 1024
  }

  /** The driver's connection, for requests to JetStream. */
  get driver(): DriverConnection {
    return this.#driver
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
      if (headers !== undefined)
        this.#driver.publish(subject, bytes, reply === undefined ? { headers } : { reply, headers })
      else if (reply !== undefined) this.#driver.publish(subject, bytes, { reply })
      else this.#driver.publish(subject, bytes)
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
  #takeTogether(subject: Subject, receive: (subject: Subject, message: Carried) => void): Subscription {
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
  subscribe(subject: string, queue: string | undefined, receive: Receive): Subscription {
    const callback: Receive = (error, message) => {
      try {
        receive(error, message)
      } catch (cause) {
        this.#listener.failed(cause)
      }
    }
    return this.#driver.subscribe(subject, queue === undefined ? { callback } : { queue, callback })
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

  async #watch(): Promise<void> {
    const listener = this.#listener
    for await (const status of this.#driver.status()) {
      if (status.type === 'disconnect') {
        if (!this.#isConnected) continue
        this.#isConnected = false
        if (!this.#isClosing) listener.lost()
      } else if (status.type === 'reconnect') {
        this.#isConnected = true
        this.#held.release()
        listener.restored()
        this.#room.resume()
      } else if (status.type === 'error') {
        const { error } = status
        if (error instanceof errors.PermissionViolationError)
          listener.refused(error.subject, error.operation === 'publish' ? 'publish' : 'listen', error)
      }
    }
    const error = await this.#driver.closed()
    this.#isConnected = false
    if (!this.#isClosing) listener.ended(error instanceof Error ? error : undefined)
  }
}

/** A message of the driver, whose parts are decoded only when they are asked for. */
class NatsMessage implements Carried {
  readonly #message: Msg
  readonly words: Uint8Array

  readonly #prefix: number

  /** @param prefix characters of the subject in front of the address */
  constructor(message: Msg, prefix = 0) {
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

  get headers(): Headers | undefined {
    return readHeaders(this.#message.headers)
  }

  get isNobody(): boolean {
    return this.words.length === 0 && headersIn(this.#message)?.code === 503
  }
}

function connectFailure({ servers, port, tls }: NodeConnectionOptions, error: unknown): Error {
  const where = [servers ?? `localhost:${port ?? 4222}`].flat().join(', ')
  const cause = error instanceof Error ? error : new Error(String(error))
  if (
    cause instanceof errors.AuthorizationError ||
    cause instanceof errors.UserAuthenticationExpiredError ||
    cause.cause instanceof errors.AuthorizationError
  )
    return new UnauthenticatedError(
      `NATS at ${where} does not accept the credentials (${cause.message}); check user and pass, token, authenticator or tls`
    )
  return new ConnectionError(
    `Cannot reach NATS at ${where}: ${cause.message}; ${adviceOn(cause.message, tls)}`,
    false,
    cause.cause instanceof Error ? cause.cause : cause
  )
}

/** Advice on a failure to connect. The driver describes the failure by text only. */
function adviceOn(message: string, tls: NodeConnectionOptions['tls']): string {
  const start = 'start nats-server there, or check options.servers'
  // A server that wants a client certificate reports this after the TLS handshake, and the driver does not receive
  // the report: it only sees a timeout.
  if (tls && tls.certFile === undefined && tls.cert === undefined && /timeout/i.test(message))
    return `${start}; if the server requires client certificates, give options.tls a certFile and a keyFile`
  return /certificate|tls|doesn't exist|issuer|self.signed/i.test(message)
    ? 'check options.tls and the certificate of the server'
    : start
}
