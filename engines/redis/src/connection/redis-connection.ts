/**
 * One connection to Redis: sends and receives messages, on the channels of this library and on those that NestJS
 * uses.
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
  textOf,
  type Words
} from '@elysia-microservices/engine'
import {
  ConnectionError,
  endedWithin,
  ListenError,
  type NotStoredError
} from '@elysia-microservices/transport/kit'
import type { Driver, DriverConnection, DriverListener, DriverStore } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import {
  CHANGES,
  changeOf,
  channelOfInbox,
  EVERYONE,
  inboxOf,
  isInbox,
  isOfSystem,
  NEST_ANSWER,
  TOGETHER
} from '../words/channels.ts'
import { frameOf, readFrame } from '../words/frames.ts'
import { HeardChannels } from './heard-channels.ts'
import { refusalForNow } from './refusal.ts'
import { Routing, type Sending } from './routing.ts'
import { Taking } from './taking.ts'

/**
 * Bytes of a message; a larger message is sent in parts: Redis disconnects a subscriber for which it buffers 32 MB.
 */
const MAX_PAYLOAD = 16 * 1024 * 1024
/** A connection that has been established. */
export class RedisConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly maxPayload = MAX_PAYLOAD
  readonly server: string
  readonly #listener: CarrierListener
  readonly #driver: DriverConnection
  readonly #inboxPrefix: string | undefined
  readonly #held: HeldMessages
  readonly #room: Room
  /** Finds the receivers of messages. */
  readonly routing: Routing
  readonly #inboxes: Hearing
  readonly #taking: Taking
  readonly #hearing = new HeardChannels()
  /** Messages that are sent later than they were published. */
  readonly #deferred = new Set<Promise<unknown>>()
  /** The events that were emitted since the last `flush`; each promise resolves with the reason if it was not stored. */
  #emitted: Promise<NotStoredError | undefined>[] = []
  #last: Promise<unknown> = Promise.resolve()
  #losses = 0
  #isClosing = false

  private constructor(
    driver: DriverConnection,
    where: string,
    listener: CarrierListener,
    inboxPrefix: string | undefined
  ) {
    this.#inboxPrefix = inboxPrefix
    this.server = where
    this.#listener = listener
    this.#driver = driver
    this.#held = new HeldMessages(listener)
    this.#taking = new Taking(driver)
    this.#inboxes = new Hearing(listener)
    this.#room = new Room(
      () => this.#sent(),
      () => this.isConnected
    )
    const isConnected = () => this.isConnected
    const sending: Sending = {
      get isConnected() {
        return isConnected()
      },
      send: (channel, words, heard) => this.#send(channel, words, heard),
      defer: (address, task) => this.#defer(address, task),
      unsent: (address, error) => this.#unsent(address, error),
      nobody: (reply) => this.#nobody(reply)
    }
    this.routing = new Routing(sending, driver)
  }

  /**
   * Connects.
   * @throws {ConnectionError} the server cannot be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    name: string | undefined,
    listener: CarrierListener
  ): Promise<RedisConnection> {
    let connection: RedisConnection | undefined
    const told: DriverListener = {
      signal: listener.signal,
      lost: () => connection?.lost(),
      restored: () => connection?.restored(),
      message: (glob, channel, bytes) => connection?.message(glob, channel, bytes),
      refused: (channel, error) => connection?.refused(channel, error) === true
    }
    const opened = await driver.open(options, name, told)
    connection = new RedisConnection(opened, options.where, listener, options.inboxPrefix)
    return connection
  }

  get isConnected(): boolean {
    return this.#driver.isConnected
  }

  get over(): Carrier['over'] {
    return this.routing.over
  }

  /** Whether subscribers may be at other servers, where PUBLISH does not count them. */
  get isCluster(): boolean {
    return this.#driver.isCluster
  }

  /** The streams, groups and dead letters of the server. */
  get store(): DriverStore {
    return this.#driver.store
  }

  /** Publishes a message that only says that something has changed. */
  async tell(channel: string, text: string): Promise<void> {
    await this.#driver.publish(channel, text)
  }

  newInbox(): string {
    return inboxOf(newSecret() + newSecret(), this.#inboxPrefix)
  }

  isInbox(address: string): boolean {
    return isInbox(address) || address.startsWith(NEST_ANSWER)
  }

  togetherAt(address: string): string {
    return TOGETHER + address
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders): void {
    if (!this.isConnected)
      return this.#held.hold(address, words.length, () => this.publish(address, words, reply, headers))
    if (address.startsWith(TOGETHER))
      this.routing.ask({ route: address.slice(TOGETHER.length), words, reply, headers, isForOurs: true })
    else if (address.startsWith(NEST_ANSWER))
      this.#send(address.slice(NEST_ANSWER.length), words, (receivers) => this.#heard(receivers, reply))
    else if (isInbox(address)) {
      const channel = channelOfInbox(address)
      const frame = frameOf(address.slice(channel.length + 1), words, reply, headers)
      this.#send(channel, frame, (receivers) => this.#heard(receivers, reply))
    } else if (address === EVERYONE) this.#send(EVERYONE, frameOf('', words, reply, headers))
    else {
      // Whether only services of this library can read the message: a value of a channel or a part of a message is
      // not a packet of NestJS.
      const isForOurs = typeof words === 'string' ? !words.startsWith('{') : words[0] !== 0x7b
      this.routing.ask({ route: address, words, reply, headers, isForOurs })
    }
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    if (!this.isConnected)
      return this.#held.hold(address, packet.length, () => this.emit(address, packet, reply, headers))
    const emitted = this.routing.emit(address, packet, reply, headers).then(
      () => undefined,
      (error: Error) => {
        const refusal = refusalForNow(address, error)
        // `flush` throws the refusal.
        if (refusal === undefined) this.#unsent(address, error)
        return refusal
      }
    )
    this.#emitted.push(emitted)
    this.#defer(address, emitted)
  }

  /** Publishes. @param heard is called with the number of receivers */
  #send(channel: string, words: Words, heard?: (receivers: number) => void): Promise<number> {
    const payload =
      typeof words === 'string' ? words : Buffer.from(words.buffer, words.byteOffset, words.length)
    this.#room.use(payload.length)
    const sent = this.#driver.publish(channel, payload)
    sent.then(heard, (error: Error) => this.#unsent(channel, error))
    this.#last = sent
    return sent
  }

  #unsent(address: string, error: Error): void {
    // When the server is lost, everything that was sent fails anyway.
    if (this.#isClosing || !this.isConnected) return
    if (error.name === 'ReplyError') return this.#listener.refused(address, 'publish', error)
    const losses = this.#losses
    // The driver reports that the server is lost a little after the failures of commands.
    setImmediate(() => {
      if (this.#isClosing || losses !== this.#losses) return
      // The server is not lost, yet the message was not sent. Reconnecting fails the call of the message.
      this.#listener.failed(error)
      this.#driver.renew()
    })
  }

  #heard(receivers: number, reply: string | undefined): void {
    if (receivers === 0) this.#nobody(reply)
  }

  /** Tells the sender of a request, at its own reply address, that nobody has received the request. */
  #nobody(reply: string | undefined): void {
    if (reply === undefined) return
    const tell = () => this.#inboxes.nobody(channelOfInbox(reply), reply)
    if (!this.isCluster) return tell()
    // If the node is left, the loss of the connection fails the request, which subscribers at another node may have.
    const told = this.#driver.isLeaving().then((isLeaving) => {
      if (!isLeaving) tell()
    })
    this.#defer(reply, told)
  }

  #defer(address: string, task: Promise<unknown>): void {
    const deferred = task
      .catch((error: Error) => this.#unsent(address, error))
      .finally(() => this.#deferred.delete(deferred))
    this.#deferred.add(deferred)
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  listen(address: string, receive: (message: Carried) => void, refused?: (error: Error) => void): void {
    const isBehind = address.endsWith('.')
    const channel = isBehind ? address.slice(0, -1) : address
    this.#inboxes.add(channel, receive)
    this.#defer(
      channel,
      this.#driver.subscribe(channel).catch((error: Error) => {
        if (error.name === 'ReplyError') refused?.(error)
      })
    )
  }

  /** Calls a function whenever anything is published on a channel. */
  async hear(channel: string, said: () => void): Promise<void> {
    this.#hearing.add(channel, said)
    await this.#driver.subscribe(channel)
  }

  /**
   * Receives what NestJS clients publish to a durable pattern, in addition to the handlers that are not durable.
   * @throws the server's error, if this user may not subscribe
   */
  hearNest(pattern: string, receive: (channel: string, text: string) => void): Promise<void> {
    return this.#taking.hearNest(pattern, receive)
  }

  /** Stops what `hear` began. */
  unhear(channel: string, said: () => void): void {
    if (this.#hearing.remove(channel, said)) this.#driver.unsubscribe([channel], []).catch(() => {})
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    try {
      await this.#taking.start(subjects, receive)
    } catch (error) {
      // A subscription that is lost together with the server is restored with all others.
      if ((error as Error).name === 'ReplyError')
        throw new ListenError(`Redis at ${this.server}`, error as Error)
    }
    await this.#tellOfChange(true)
  }

  async leave(): Promise<void> {
    const told = this.#tellOfChange(false)
    await this.#taking.leave()
    await told
  }

  /** Tells all callers that they may send to this process from now on, or no longer. */
  async #tellOfChange(isThere: boolean): Promise<void> {
    const change = changeOf({ isThere, channels: this.#taking.channels })
    if (this.isConnected) await this.#send(CHANGES, change).catch(() => {})
  }

  /**
   * Handles a message. @param glob the subscribed glob that matches the channel; `undefined`: the channel itself is
   * subscribed
   */
  message(glob: string | undefined, channel: string, bytes: Buffer): void {
    try {
      if (glob === undefined && this.#taking.receive(channel, bytes)) return
      const isForInbox = glob === undefined && this.#inboxes.has(channel)
      if (isForInbox) this.#inboxes.hear(channel, readFrame(bytes, channel === EVERYONE ? '' : `${channel}.`))
      else if (glob === undefined && this.#hearing.say(channel)) return
      else if (glob === undefined && channel === CHANGES) this.routing.changed(bytes.toString())
      else if (glob === undefined && this.routing.isAnswers(channel)) this.#answered(textOf(bytes))
      else if (!isOfSystem(channel)) this.#taking.receiveNest(glob, channel, bytes)
    } catch (error) {
      this.#listener.failed(error)
    }
  }

  /** Handles the answer of a NestJS service. The answer may be for another client. */
  #answered(words: string): void {
    const inbox = this.routing.inboxOf(words)
    if (inbox !== undefined)
      this.#inboxes.hear(inbox.channel, { address: inbox.address, words, reply: '', headers: undefined })
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  hasRoomFor(sender: Sender): boolean {
    return this.#room.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    setImmediate(task)
  }

  /** @throws {NotStoredError} the server does not store an event that was emitted since the last call */
  async flush(): Promise<void> {
    const emitted = this.#emitted
    this.#emitted = []
    await this.#sent()
    const failure = (await Promise.all(emitted)).find((reason) => reason !== undefined)
    if (failure !== undefined) throw failure
  }

  /** Waits for what was sent so far. What is sent meanwhile is not waited for: under load there is always more. */
  async #sent(): Promise<void> {
    const losses = this.#losses
    await Promise.all(this.#deferred)
    await this.#last.catch(() => {})
    if (losses !== this.#losses || !this.isConnected)
      throw new ConnectionError(`The connection to Redis at ${this.server} was lost`, true)
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    const flushed = async () => {
      if (!this.isConnected) return
      // A request that has waited may send another message.
      do await this.#sent().catch(() => {})
      while (this.isConnected && this.#deferred.size > 0)
      // PING is answered after all commands before it.
      await this.#driver.ping()
    }
    // A server that stands still must not keep the process from ending.
    await endedWithin(flushed()).catch(() => {})
    this.#isClosing = true
    this.routing.close()
    this.#driver.close()
  }

  /** The server is lost. */
  lost(): void {
    this.#losses++
    this.routing.lost()
    if (!this.#isClosing) this.#listener.lost()
  }

  /** A subscription cannot be restored. @returns whether the connection may do without it */
  refused(channel: string, error: Error): boolean {
    if (channel === CHANGES || this.#inboxes.has(channel)) {
      this.#listener.failed(error)
      return false
    }
    this.#listener.refused(channel, 'listen', error)
    return true
  }

  /** There is a server again, and all subscriptions are restored. */
  restored(): void {
    if (this.#taking.channels.length > 0) void this.#tellOfChange(true)
    this.routing.restored()
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }
}
