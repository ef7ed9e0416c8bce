/** One connection to NATS: the only place that knows how the driver connects, loses its server and finds another. */

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
} from '@elysia-microservices/transport/engine'
import {
  ConnectionError,
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
import { readHeaders, writeHeaders } from '../words/headers.ts'
import { EVERYONE, type Inboxes, TOGETHER } from '../words/inboxes.ts'
import { isOfSystem } from '../words/subjects.ts'
import { bytesOf } from './bytes.ts'

/**
 * Bytes that the driver collects in a turn before it writes them. Its own limit, twice as many, is what a hundred small
 * requests of one turn have together: they would go round as one convoy, and client, server and service wait for each
 * other. The driver reads the option, and its types lack it.
 */
const EARLY_WRITES: object = { pendingLimit: 16 * 1024 }

/** The callback that NATS's driver calls with each message, or with an error. */
export type Receive = (error: Error | null, message: Msg) => void

/** A connection that has been made. */
export class NatsConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly #driver: DriverConnection
  readonly #listener: CarrierListener
  readonly #inboxes: Inboxes
  readonly #held: HeldMessages
  readonly #room: Room
  /** Subscriptions of a service, which end first when it stops. */
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

  /** The driver's connection, for what asks JetStream. */
  get driver(): DriverConnection {
    return this.#driver
  }

  newInbox(): string {
    return this.#inboxes.ofCalls()
  }

  /** An inbox for JetStream's deliveries and confirmations, to which callers need no right to publish. */
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

  /** Publishes with headers of the driver. Without a server: once there is one. */
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
   * Requests that left together. A user without the right to listen there gets them one by one. In a queue group of
   * their own: NATS gives a message to one member of a group of that name whatever it has subscribed to, so that a
   * handler of `>`, which drops what is of the system, would take requests away from here.
   */
  #takeTogether(subject: Subject, receive: (subject: Subject, message: Carried) => void): Subscription {
    return this.subscribe(TOGETHER + subject.address, `${subject.queue}-together`, (error, message) => {
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

  /** Subscribes as the driver does, but for exceptions: they would stop it. */
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
    if (this.#isConnected) await this.#driver.flush().catch(() => {})
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

/** A message of the driver, which decodes what is asked for. */
class NatsMessage implements Carried {
  readonly #message: Msg
  readonly words: Uint8Array

  readonly #prefix: number

  /** @param prefix characters of its subject that are not of its address */
  constructor(message: Msg, prefix = 0) {
    this.#message = message
    this.#prefix = prefix
    // The driver makes a view each time that it is asked.
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
    return this.words.length === 0 && this.#message.headers?.code === 503
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

/** Advice on a failure, which the driver describes by its text only. */
function adviceOn(message: string, tls: NodeConnectionOptions['tls']): string {
  const start = 'start nats-server there, or check options.servers'
  // The alert of such a server comes after the handshake, and the driver does not hear it.
  if (tls && tls.certFile === undefined && tls.cert === undefined && /timeout/i.test(message))
    return `${start}; if the server wants certificates of its clients, give options.tls a certFile and a keyFile`
  return /certificate|tls|doesn't exist|issuer|self.signed/i.test(message)
    ? 'check options.tls and the certificate of the server'
    : start
}
