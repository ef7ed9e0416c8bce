/**
 * The connection of one client or service to a Kafka cluster: sends and receives messages, on the topics of this
 * library and on the topics that NestJS uses.
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
import { endedWithin, ListenError, type MessageHeaders } from '@elysia-microservices/transport/kit'
import { type Driver, EARLIEST, Isolation } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { HEADER, KEY } from '../words/headers.ts'
import {
  EVERYONE,
  groupOfService,
  inboxOf,
  inboxTopic,
  isInbox,
  placeOf,
  readAnswer,
  replyAddress
} from '../words/names.ts'
import { departureOf, eventFor, messageFor, type Outgoing } from '../words/outgoing.ts'
import type { Fetched } from '../words/record.ts'
import { packetOf, packetOfNest, readValue } from '../words/values.ts'
import { soon } from './brokers.ts'
import { Cluster } from './cluster.ts'
import { Departures } from './departures.ts'
import { Code, codesIn, isUnreached, readableError } from './errors.ts'
import { positionOf } from './positions.ts'
import { Producer, type Told } from './producer.ts'
import { Reader } from './reader.ts'
import { type TakenRecord, Takers } from './takers.ts'

/** Bytes of a message; a larger message is sent in parts. */
const MAX_PAYLOAD = 900 * 1024
/**
 * Milliseconds that Kafka keeps answers. No caller reads an answer later, and the answers of streams would fill the
 * disks.
 */
const ANSWERS_STAY = 60_000
/** Milliseconds until brokers are asked again that have refused, or have not answered, after an outage. */
const AGAIN_AFTER = 1_000
/** Stands for a reply address that is not an inbox; nothing is published to this address. */
const NOWHERE = '?'

type Receive = (message: Carried) => void

/** A partition that is to be read, and who is told if the brokers do not allow it. */
interface Place {
  readonly topic: string
  readonly partition: number
  readonly refused: ((error: Error) => void) | undefined
}

/** A connection that has been established. */
export class KafkaConnection implements Carrier {
  readonly everyone = EVERYONE
  readonly maxPayload = MAX_PAYLOAD
  readonly server: string
  readonly cluster: Cluster
  readonly #options: CheckedOptions
  readonly #listener: CarrierListener
  readonly #producer: Producer
  readonly #held: HeldMessages
  readonly #room: Room
  /** Reads two topics: our partition of the inbox topic, and the topic that every service reads. */
  readonly #reader: Reader
  /** The listeners, by the secret of their inbox or by their topic. */
  readonly #hearing: Hearing
  readonly #takers: Takers
  readonly #inboxes: string
  readonly #partition: number
  #received: (subject: Subject, message: Carried) => void = () => {}
  /** Subjects that could not be taken, because the brokers were lost. */
  readonly #untaken: (readonly Subject[])[] = []
  /** Partitions that could not be read, because the brokers were lost. */
  readonly #unread: Place[] = []
  #setUp: Promise<unknown> = Promise.resolve()
  /** Our inbox, with the dot at its end. `undefined` until somebody listens at the inbox. */
  #inbox: string | undefined
  readonly #departures = new Departures((reply) => this.#nobody(reply))

  private constructor(cluster: Cluster, options: CheckedOptions, listener: CarrierListener) {
    this.cluster = cluster
    this.server = options.where
    this.#options = options
    this.#listener = listener
    this.#held = new HeldMessages(listener)
    this.#hearing = new Hearing(listener)
    this.#producer = new Producer(cluster, (error) => listener.failed(error))
    this.#room = new Room(
      () => this.flush(),
      () => this.isConnected
    )
    this.#inboxes = inboxTopic(options.inboxPrefix)
    const partitions = cluster.topic(this.#inboxes)?.leaders.length ?? 1
    this.#partition = Math.floor(Math.random() * partitions)
    this.#reader = new Reader(cluster, 'inbox', Isolation.uncommitted, {
      receive: (fetched) => {
        for (const { topic, records } of fetched)
          for (const record of records) this.#hearing.guard(() => this.#hear(topic, record))
      },
      gone: ({ topic, partition }) => positionOf(cluster, topic, partition, EARLIEST),
      failed: (error) => listener.failed(error)
    })
    this.#takers = new Takers(cluster, {
      message: (subject, fetched) => this.#hearing.guard(() => this.#receive(subject, fetched)),
      failed: (error) => listener.failed(error)
    })
  }

  /**
   * Connects.
   * @throws {ConnectionError} no broker can be reached
   * @throws {UnauthenticatedError} the broker does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    clientId: string,
    listener: CarrierListener
  ): Promise<KafkaConnection> {
    let connection: KafkaConnection | undefined
    const cluster = await Cluster.open(driver, options, clientId, {
      signal: listener.signal,
      lost: () => connection?.lost(),
      restored: () => connection?.restored()
    })
    try {
      const configs = { 'retention.ms': String(ANSWERS_STAY), 'segment.ms': String(ANSWERS_STAY) }
      await cluster.ensure([
        { name: inboxTopic(options.inboxPrefix), configs },
        { name: EVERYONE, partitions: 1, configs }
      ])
    } catch (error) {
      await cluster.close()
      throw readableError(error, `Kafka at ${options.where} does not open the topic of answers`, false)
    }
    connection = new KafkaConnection(cluster, options, listener)
    return connection
  }

  get isConnected(): boolean {
    return this.cluster.isConnected
  }

  newInbox(): string {
    return inboxOf(this.#inboxes, this.#partition, newSecret() + newSecret())
  }

  isInbox(address: string): boolean {
    return isInbox(address) || readAnswer(address) !== undefined
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void {
    if (!this.isConnected)
      return this.#held.hold(address, words.length, () =>
        this.publish(address, words, reply, headers, expires)
      )
    if (reply && isInbox(address) && !this.#departures.expect(address, reply))
      return queueMicrotask(() => this.#nobody(reply))
    this.#send(address, messageFor(address, words, { reply, headers, expires }), reply)
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    if (!this.isConnected)
      return this.#held.hold(address, packet.length, () => this.emit(address, packet, reply, headers))
    this.#send(address, eventFor(address, packet, headers), reply)
  }

  #send(address: string, record: Outgoing, reply?: string): void {
    const told = (what: Told) => this.#told(address, reply, what)
    this.#producer.send({ ...record, told })
    this.#room.use(record.bytes.length)
  }

  #told(address: string, reply: string | undefined, { isMissing, error }: Told): void {
    const isRefused =
      codesIn(error).includes(Code.topicAuthorization) ||
      (error as { retryable?: unknown }).retryable === false
    if (isRefused) this.#hearing.guard(() => this.#listener.refused(address, 'publish', error))
    else if (isMissing && reply) this.#nobody(reply)
    else if (!isMissing && (codesIn(error).length > 0 || isUnreached(error))) this.#listener.failed(error)
  }

  /**
   * Tells the sender of a request, at its own reply address, that there is no topic for the request, and so no
   * service.
   */
  #nobody(reply: string): void {
    this.#hearing.nobody(secretOf(placeOf(reply).token), reply)
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  listen(address: string, receive: Receive, refused?: (error: Error) => void): void {
    const isInboxOfOurs = address.endsWith('.')
    this.#hearing.add(isInboxOfOurs ? secretOf(placeOf(address).token) : address, receive)
    const [topic, partition] = isInboxOfOurs ? [this.#inboxes, this.#partition] : [address, 0]
    const isRead = isInboxOfOurs && this.#inbox !== undefined
    if (isInboxOfOurs) this.#inbox = address
    if (isRead) return
    this.#setUp = Promise.all([this.#setUp, this.#read({ topic, partition, refused })])
  }

  /** Begins to read what a topic gets from now on: if the brokers are lost meanwhile, as soon as they are there again. */
  async #read(place: Place): Promise<void> {
    const { topic, partition, refused } = place
    try {
      await this.#reader.addLatest(topic, partition)
    } catch (error) {
      if (codesIn(error).length > 0) return refused?.(error as Error)
      this.#unread.push(place)
      if (this.isConnected) setTimeout(() => this.#readAgain(), AGAIN_AFTER)
    }
  }

  #readAgain(): void {
    if (this.isConnected) for (const place of this.#unread.splice(0)) void this.#read(place)
  }

  /** Stops listening at an inbox. */
  unhear(inbox: string): void {
    this.#hearing.remove(secretOf(placeOf(inbox).token))
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    this.#received = receive
    await this.#take(subjects)
  }

  async #take(subjects: readonly Subject[]): Promise<void> {
    try {
      await this.#takers.take(subjects, groupOfService)
    } catch (error) {
      if (error instanceof ListenError || this.isConnected) throw error
      // The brokers were lost meanwhile. The subjects are taken as soon as a broker can be reached.
      this.#untaken.push(subjects)
    }
  }

  async #takeAgain(subjects: readonly Subject[]): Promise<void> {
    while (!this.cluster.isClosed) {
      try {
        return await this.#take(subjects)
      } catch (error) {
        this.#listener.failed(error)
        await soon(AGAIN_AFTER)
      }
    }
  }

  leave(): Promise<void> {
    return this.#takers.leave()
  }

  /** Handles a message for a service. */
  #receive(subject: Subject, { record, isLate }: TakenRecord): void {
    const { address } = subject
    const expires = isLate ? Number(record.header(HEADER.expires)) : 0
    // The request expired at its caller before a process of the service could read the request.
    if (expires > 0 && record.timestamp + expires < Date.now()) return
    const token = record.header(HEADER.correlation)
    const reply = this.#replyOf(address, record, token)
    const words =
      record.header(HEADER.words) === undefined
        ? packetOf(
            address,
            readValue(record.text, record.header(HEADER.type)),
            reply === '' ? undefined : token
          )
        : (record.value ?? '')
    this.#received(subject, { address, words, reply, headers: headersOf(record) })
  }

  #replyOf(topic: string, record: Fetched, token: string | undefined): string {
    const wanted = record.header(HEADER.replyTopic)
    if (token === undefined || wanted === undefined) return ''
    const partition = Number(record.header(HEADER.replyPartition) ?? 0)
    return replyAddress(topic, { topic: wanted, partition, token }, this.#options.replyTo)
  }

  /**
   * Handles a record of our partition of the inbox topic, or of the topic that every service reads. The record may be
   * for another inbox of the partition.
   */
  #hear(topic: string, record: Fetched): void {
    if (topic === EVERYONE) {
      const gone = record.header(HEADER.gone)
      if (gone !== undefined) return this.#departures.gone(gone)
      const reply = known(record.header(HEADER.reply))
      const words = record.value ?? ''
      return this.#hearing.hear(EVERYONE, { address: topic, words, reply, headers: undefined })
    }
    const { key } = record
    if (key !== undefined) {
      const token = key.toString('latin1')
      const secret = secretOf(token)
      if (!this.#hearing.has(secret)) return
      const address = `${topic}/${this.#partition}/${token}`
      const reply = known(record.header(HEADER.reply))
      return this.#hearing.hear(secret, { address, words: record.value ?? '', reply, headers: undefined })
    }
    // The record is the answer of a NestJS service.
    const token = record.header(HEADER.correlation)
    const secret = token === undefined ? '' : secretOf(token)
    if (!this.#hearing.has(secret)) return
    const address = `${topic}/${this.#partition}/${token}`
    const isDisposed = record.header(HEADER.disposed) !== undefined
    const words = packetOfNest(record.text, record.header(HEADER.error), isDisposed, address)
    this.#hearing.hear(secret, { address, words, reply: '', headers: record.callers })
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
    if (!this.isConnected) throw new Error(`Kafka at ${this.server} is lost`)
    await this.#producer.flush()
  }

  async close(): Promise<void> {
    if (this.cluster.isClosed) return
    if (this.isConnected && this.#inbox !== undefined && !this.#hearing.has(EVERYONE)) {
      // Without this message no service would know that the caller no longer waits.
      this.#send(EVERYONE, departureOf(this.#inbox))
    }
    // A broker that stands still must not keep the process from ending.
    await endedWithin(this.#part(), this.#options.connectTimeout)
    const stopped = this.#reader.stop()
    await this.cluster.close()
    await stopped
  }

  /** Resolves when the brokers have everything that was sent, and know that this process has left its groups. */
  async #part(): Promise<void> {
    if (this.isConnected) await this.flush().catch(() => {})
    await this.#takers.leave().catch(() => {})
  }

  /** All brokers are lost. */
  lost(): void {
    this.#producer.lost()
    this.#listener.lost()
  }

  /** A broker can be reached again. */
  restored(): void {
    this.#reader.restored()
    this.#takers.restored()
    this.#readAgain()
    for (const subjects of this.#untaken.splice(0)) void this.#takeAgain(subjects)
    this.#held.release()
    this.#listener.restored()
    this.#room.resume()
  }
}

/** The headers of the caller, with the key of the record. */
function headersOf({ keyText, callers }: Fetched): MessageHeaders | undefined {
  return keyText === undefined ? callers : { ...callers, [KEY]: keyText }
}

/** The secret of an inbox stands before the dot. */
function secretOf(token: string): string {
  return token.slice(0, token.indexOf('.'))
}

/**
 * Returns the reply address if it is an inbox. A request with any other reply address is dropped and counted:
 * otherwise a stranger could make this service publish to any topic.
 */
function known(reply: string | undefined): string {
  if (reply === undefined) return ''
  return isInbox(reply) ? reply : NOWHERE
}
