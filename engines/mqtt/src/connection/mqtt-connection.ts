/**
 * One connection to an MQTT server: sends and receives messages, on the topics of this library and on those that
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
import { ConnectionError, ListenError, shown } from '@elysia-microservices/transport/kit'
import type { Driver } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { readHeaders, writeHeaders } from '../words/headers.ts'
import { idOfAnswer, readNest, retained, withId } from '../words/packets.ts'
import {
  asking,
  expiring,
  headersOf,
  heardAt,
  type PacketProperties,
  type ReceivedPacket
} from '../words/properties.ts'
import {
  answerAddress,
  answersOf,
  EVERYONE,
  inboxOf,
  isInbox,
  isOfSystem,
  placeOf,
  readAnswerAddress,
  replyAddress,
  sharedFilter,
  TOGETHER
} from '../words/topics.ts'
import { Link, type Outgoing } from './link.ts'

/**
 * Bytes of a message; a larger message is sent in parts, because a server keeps a message in memory for each
 * subscriber that is slow.
 */
const MAX_PAYLOAD = 16 * 1024 * 1024
/** Topics of answers to which a client subscribes at a time; the one that was used longest ago is removed first. */
const MOST_ANSWERS = 8_192

type Receive = (message: Carried) => void

/** A subject for which a subscription of this connection receives messages. */
interface Taken {
  readonly subject: Subject
  /** The prefix of the topics, for messages with several requests. */
  readonly before: string
  readonly isShared: boolean
}

/** A connection that has been established. */
export class MqttConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly server: string
  readonly #options: CheckedOptions
  readonly #listener: CarrierListener
  readonly #link: Link
  readonly #held: HeldMessages
  readonly #room: Room
  readonly #hearing: Hearing
  /** Functions that are called with the first message of an inbox. */
  readonly #proofs = new Map<string, () => void>()
  /** Topics on which NestJS services answer calls. They stay subscribed, instead of being subscribed for each call. */
  readonly #answers = new Set<string>()
  /** The subjects of a service, by the identifier of the subscription, or by topic if no subject has wildcards. */
  readonly #taken = new Map<number | string, Taken>()
  #filters: string[] = []
  #receive: (subject: Subject, message: Carried) => void = () => {}
  #setUp: Promise<unknown> = Promise.resolve()
  #isClosing = false

  private constructor(link: Link, options: CheckedOptions, listener: CarrierListener) {
    this.server = options.where
    this.#options = options
    this.#listener = listener
    this.#link = link
    this.#held = new HeldMessages(listener)
    this.#hearing = new Hearing(listener)
    this.#room = new Room(
      () => this.flush(),
      () => this.isConnected
    )
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
    listener: CarrierListener
  ): Promise<MqttConnection> {
    let connection: MqttConnection | undefined
    const link = await Link.open(driver, options, clientId, {
      signal: listener.signal,
      lost: (why) => connection?.lost(why),
      restored: () => connection?.restored(),
      message: (topic, bytes, packet) => connection?.message(topic, bytes, packet),
      failed: (error) => listener.failed(error)
    })
    connection = new MqttConnection(link, options, listener)
    return connection
  }

  get isConnected(): boolean {
    return this.#link.isConnected
  }

  get maxPayload(): number {
    return Math.min(this.#link.maximumPacketSize, MAX_PAYLOAD)
  }

  newInbox(): string {
    return inboxOf(newSecret() + newSecret(), this.#options.inboxPrefix)
  }

  isInbox(address: string): boolean {
    return isInbox(address) || readAnswerAddress(address) !== undefined
  }

  togetherAt(address: string): string {
    return TOGETHER + address
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void {
    if (!this.isConnected)
      return this.#held.hold(address, words.length, () =>
        this.publish(address, words, reply, headers, expires)
      )
    const asker = readAnswerAddress(address)
    if (asker !== undefined) {
      const { topic, correlation } = asker
      const correlationData = correlation === '' ? undefined : Buffer.from(correlation, 'base64')
      return this.#send(address, topic, words, reply, {
        ...headersOf(headers),
        ...(correlationData && { correlationData })
      })
    }
    if (isInbox(address)) {
      const { topic, token } = placeOf(address)
      const from = reply === undefined || reply === '' ? undefined : placeOf(reply)
      const correlation = from === undefined ? token : `${token} ${from.token}`
      return this.#send(address, topic, words, reply, {
        correlationData: Buffer.from(correlation),
        ...(from && { responseTopic: from.topic }),
        ...headersOf(headers)
      })
    }
    const properties = { ...asking(reply), ...headersOf(headers), ...expiring(expires) }
    const isPacket = typeof words === 'string' ? words.startsWith('{') : words[0] === 0x7b
    if (address === EVERYONE || address.startsWith(TOGETHER) || !isPacket || reply === undefined) {
      // Whether only services of this library can read the message: a value of a channel or a part of a message is
      // not a packet of NestJS.
      const isOurs = address === EVERYONE || address.startsWith(TOGETHER)
      return this.#send(address, isOurs ? address : TOGETHER + address, words, reply, properties)
    }
    this.#hearAnswers(answersOf(address))
    this.#send(address, address, withId(String(words), reply), reply, properties)
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    if (!this.isConnected)
      return this.#held.hold(address, packet.length, () => this.emit(address, packet, reply, headers))
    const { userProperties, retain, qos, expiry } = writeHeaders(headers)
    const properties = {
      ...asking(reply),
      ...(userProperties && { userProperties }),
      ...(expiry !== undefined && { messageExpiryInterval: expiry })
    }
    const words = retain ? retained(packet) : packet
    this.#send(address, address, words, reply, properties, { qos, retain })
  }

  /** Publishes. With a reply address, the caller is told if nobody has subscribed to the topic. */
  #send(
    address: string,
    topic: string,
    words: Words,
    reply: string | undefined,
    properties: PacketProperties,
    { qos, retain }: Pick<Outgoing, 'qos' | 'retain'> = { qos: reply ? 1 : 0 }
  ): void {
    const payload =
      typeof words === 'string' ? words : Buffer.from(words.buffer, words.byteOffset, words.length)
    this.#link.publish({
      topic,
      payload,
      qos,
      ...(retain === true && { retain }),
      properties,
      told: (isHeard, refusal) => {
        if (refusal !== undefined) this.#listener.refused(address, 'publish', refusal)
        else if (!isHeard && reply) this.#hearing.nobody(placeOf(reply).topic, reply)
      }
    })
    this.#room.use(payload.length)
  }

  /**
   * Subscribes to a topic of answers. The server handles commands in order, so the answer to a request that is sent
   * next is received.
   */
  #hearAnswers(topic: string): void {
    const isKnown = this.#answers.delete(topic)
    this.#answers.add(topic)
    if (isKnown) return
    // A user without the right to subscribe to answers of NestJS services still gets answers of this library's
    // services.
    this.#link.subscribe(topic).catch(() => {})
    if (this.#answers.size <= MOST_ANSWERS) return
    const [oldest = ''] = this.#answers
    this.#answers.delete(oldest)
    this.#link.unsubscribe([oldest]).catch(() => {})
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  listen(address: string, receive: Receive, refused?: (error: Error) => void): void {
    const isInboxOfOurs = address.endsWith('.')
    const topic = isInboxOfOurs ? address.slice(0, -1) : address
    this.#hearing.add(topic, receive)
    const subscribed = this.#link.subscribe(topic)
    const listening = isInboxOfOurs ? subscribed.then(() => this.#prove(topic)) : subscribed
    const settled = listening.catch((error: Error) => {
      if (this.isConnected) refused?.(error)
    })
    this.#setUp = Promise.all([this.#setUp, settled])
  }

  /**
   * Sends a message to this connection's own inbox: some servers accept every subscription, but deliver nothing to
   * users without the right.
   */
  async #prove(topic: string): Promise<void> {
    // The server is lost since it has answered: the subscription is restored with all others.
    if (!this.isConnected) return
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        const refuse = (why: string) => reject(new Error(`The server ${why}`))
        const silent = () => reject(new ConnectionError(`MQTT at ${this.server} does not answer`, false))
        timer = setTimeout(silent, this.#options.connectTimeout)
        this.#proofs.set(topic, resolve)
        const told: Outgoing['told'] = (isHeard, refusal) => {
          if (refusal !== undefined) reject(refusal)
          else if (!isHeard) refuse('has no subscriber there')
          // Some servers confirm a message before they deliver it, so they must have answered something else, too.
          else this.#link.flush(true).then(() => setImmediate(refuse, 'delivers nothing from there'), resolve)
        }
        this.#link.publish({ topic, payload: '', qos: 1, told })
      })
    } finally {
      clearTimeout(timer)
      this.#proofs.delete(topic)
    }
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    this.#receive = receive
    const areDistinct = new Set(subjects.map(({ address }) => address)).size === subjects.length
    const isPlain = areDistinct && subjects.every((one) => one.isExact)
    const wanted: Promise<void>[] = []
    for (const subject of subjects) {
      const { address, queue } = subject
      for (const before of subject.answers ? ['', TOGETHER] : ['']) {
        const filter = sharedFilter(address, queue, before)
        // If patterns overlap, a message arrives several times. The identifier tells to which subscription each one
        // belongs.
        const id = isPlain ? undefined : this.#taken.size + 1
        this.#taken.set(id ?? before + address, { subject, before, isShared: filter.startsWith('$share/') })
        this.#filters.push(filter)
        wanted.push(this.#link.subscribe(filter, id))
      }
    }
    try {
      await Promise.all(wanted)
    } catch (error) {
      // Subscriptions that are lost together with the server are restored with all others.
      if (this.isConnected) throw new ListenError(`MQTT at ${this.server}`, error as Error)
    }
  }

  async leave(): Promise<void> {
    const filters = this.#filters
    this.#filters = []
    // The server answers in order, so all messages that it has sent before arrive before this answer.
    await this.#link.unsubscribe(filters).catch(() => {})
    this.#taken.clear()
  }

  /** Handles a message. */
  message(topic: string, bytes: Buffer, packet: ReceivedPacket): void {
    this.#hearing.guard(() => {
      // A server may send one message for all subscriptions that match, with the identifiers of all of them.
      const ids = [packet.properties?.subscriptionIdentifier ?? topic].flat()
      const taken = ids.flatMap((id) => this.#taken.get(id) ?? [])
      for (const each of taken) this.#take(each, topic, bytes, packet)
      if (taken.length > 0) return
      this.#proofs.get(topic)?.()
      if (this.#hearing.has(topic)) return this.#hearing.hear(topic, heardAt(topic, bytes, packet))
      if (this.#answers.has(topic)) this.#answered(bytes.toString())
    })
  }

  #take(taken: Taken, topic: string, bytes: Buffer, packet: ReceivedPacket): void {
    const { subject, before, isShared } = taken
    const { properties, retain } = packet
    // The standard wants no kept messages for shared subscriptions; mosquitto sends them, at each start and reconnection.
    if (retain && isShared) return this.#refuseKept(topic, bytes, packet)
    const headers = readHeaders(packet)
    const { responseTopic, correlationData } = properties ?? {}
    if (before === '' && isOfSystem(topic)) return
    const address = topic.slice(before.length)
    if (retain && responseTopic !== undefined) return this.#refuseKept(topic, bytes, packet)
    if (responseTopic !== undefined) {
      const reply = replyAddress(address, responseTopic, correlationData, this.#options.replyTo)
      return this.#receive(subject, { address, words: bytes, reply, headers })
    }
    const { words, isRequest } = readNest(bytes.toString())
    if (retain && isRequest) return this.#refuseKept(topic, bytes, packet)
    const reply = isRequest ? answerAddress({ topic: answersOf(topic), correlation: '' }) : ''
    this.#receive(subject, { address, words, reply, headers })
  }

  /**
   * Drops a message that the server has kept. A kept request would run at each start of a service, long after its caller
   * has gone.
   */
  #refuseKept(topic: string, bytes: Buffer, { properties }: ReceivedPacket): void {
    if (properties?.responseTopic === undefined && !readNest(bytes.toString()).isRequest) return
    this.#listener.failed(
      new Error(
        `The server keeps a request on '${shown(topic)}' for later subscribers (retain), and it does not run; publish requests without retain, and an empty retained message there to delete it`
      )
    )
  }

  /** Handles the answer of a NestJS service. The answer may be for another client. */
  #answered(words: string): void {
    const id = idOfAnswer(words)
    if (id === undefined || !isInbox(id)) return
    this.#hearing.hear(placeOf(id).topic, { address: id, words, reply: '', headers: undefined })
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  hasRoomFor(sender: Sender): boolean {
    return this.#room.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    setImmediate(task)
  }

  async flush(): Promise<void> {
    await this.#setUp
    await this.#link.flush()
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    if (this.isConnected) await this.flush().catch(() => {})
    this.#isClosing = true
    await this.#link.close()
  }

  /** The server is lost. */
  lost(why: string | undefined): void {
    for (const resolve of this.#proofs.values()) resolve()
    if (!this.#isClosing) this.#listener.lost(why)
  }

  /** There is a server again, and all subscriptions are restored. */
  restored(): void {
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }
}
