/**
 * Publishes events as an idempotent producer: when a batch is sent again after the brokers were lost, the batch has
 * the same sequence numbers, so Kafka stores it once.
 */
import type { Publisher, Store } from '@elysia-microservices/engine'
import { EventRefusedError, NotStoredError } from '@elysia-microservices/transport/kit'
import type { Topic } from '../connection/cluster.ts'
import { Code } from '../connection/errors.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { refusedIn } from '../connection/producer.ts'
import type { ProducerId } from '../driver.ts'
import { type ChoosePartition, choosePartition } from '../words/partitioning.ts'
import { STORED_WITHIN, sequenceAfter } from './sequences.ts'
import { positionOf, type StoredRecord } from './stored.ts'

/** Bytes of events in one request to a broker, unless a single event is larger. */
const MOST_TOGETHER = 256 * 1024
/**
 * Requests that are under way to a broker at a time: the next is written while the broker stores one. Brokers recognize a
 * batch that is sent again among the last five of its partition, so there may be five at most.
 */
const UNDER_WAY = 2

interface Numbered {
  readonly event: StoredRecord
  readonly number: number
}

/** Events for one partition: Kafka stores all of them, or none. */
interface Batch {
  readonly topic: string
  /**
   * The id of the topic. A topic that was deleted and created again has another id, and has no records of earlier
   * batches.
   */
  readonly topicId: string
  readonly partition: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
  /** The sequence number of the first event, among all events that this producer has sent to the partition. */
  readonly sequence: number
  /** The producer that gave the sequence numbers. */
  readonly producer: number
  readonly events: Numbered[]
  size: number
  isUnderWay: boolean
  /** The broker may have stored the batch, so no event may be added to it. */
  wasSent: boolean
}

type Place = Pick<Batch, 'topic' | 'partition'>

/** Appends events to topics, over one connection. */
export class EventStore implements Store<StoredRecord> {
  readonly maxPayload: number
  readonly #connection: KafkaConnection
  readonly #publisher: Publisher<StoredRecord>
  readonly #choose: ChoosePartition
  /** The next sequence number, by topic and partition. */
  #sequences = new Map<string, number>()
  #id: Promise<ProducerId> | undefined
  /** Partitions that have stored a batch of this producer. Before, they take any sequence number, so only one batch is sent. */
  readonly #begun = new Set<string>()
  /** Counts the producers: when the brokers no longer know a producer, a new one replaces it. */
  #producer = 0
  #isForgotten = false
  /** Batches that wait or are under way, by topic and partition, in order. */
  readonly #waiting = new Map<string, Batch[]>()
  /** How many requests with events are under way, by broker. */
  readonly #underWay = new Map<number, number>()
  /** Chooses the partition of events without a key, by topic; counts up with each request. */
  readonly #turns = new Map<string, number>()
  /** Bytes of events in one batch, for topics that have refused a larger batch. */
  readonly #mostOf = new Map<string, number>()
  #collected: Numbered[] = []

  constructor(connection: KafkaConnection, publisher: Publisher<StoredRecord>) {
    this.#connection = connection
    this.#publisher = publisher
    this.maxPayload = connection.maxPayload
    this.#choose = choosePartition(connection.cluster.options.createPartitioner)
  }

  get isConnected(): boolean {
    return this.#connection.isConnected
  }

  append(event: StoredRecord, number: number): void {
    if (this.#collected.length === 0) setImmediate(() => this.#sendCollected())
    this.#collected.push({ event, number })
  }

  #sendCollected(): void {
    const collected = this.#collected
    this.#collected = []
    for (const one of collected) {
      // The event has ended since it was appended: the answer to its first copy was on its way.
      if (this.#publisher.sentEvent(one.number) === undefined) continue
      const topic = this.#connection.cluster.topic(one.event.address)
      if (topic === undefined) {
        this.#publisher.missing(one.number)
        continue
      }
      const known = one.event.batch as Batch | undefined
      if (known?.producer !== this.#producer || known.topicId !== topic.id) {
        // The topic was created again while the batch waited: sent as well, the batch would store its events twice.
        if (known?.isUnderWay === false) this.#leave(known)
        this.#add(one, topic)
        continue
      }
      // The same batch is sent again, with all its events, unless it is waiting already.
      const queue = this.#queue(known)
      if (!queue.includes(known)) queue.push(known)
    }
    this.#run()
  }

  #queue(batch: Place): Batch[] {
    const key = keyOf(batch)
    let queue = this.#waiting.get(key)
    if (queue === undefined) {
      queue = []
      this.#waiting.set(key, queue)
    }
    return queue
  }

  #add(one: Numbered, { name: topic, id: topicId, leaders }: Topic): void {
    const { event } = one
    let partition: number
    try {
      const record = { topic, key: event.key, bytes: event.bytes }
      partition = this.#choose(record, leaders) ?? this.#turnOf(topic, leaders.length)
    } catch (error) {
      const refused = new EventRefusedError(`The event '${topic}' has no partition: ${String(error)}`, error)
      return this.#publisher.refused(one.number, refused, false)
    }
    const key = keyOf({ topic, partition })
    const sequence = this.#sequences.get(key) ?? 0
    const queue = this.#queue({ topic, partition })
    let batch = queue.at(-1)
    const isOpen = batch !== undefined && !batch.wasSent && batch.topicId === topicId
    if (
      batch === undefined ||
      !isOpen ||
      batch.size + event.size > (this.#mostOf.get(topic) ?? MOST_TOGETHER)
    ) {
      batch = {
        topic,
        topicId,
        partition,
        timestamp: Date.now(),
        sequence,
        producer: this.#producer,
        events: [],
        size: 0,
        isUnderWay: false,
        wasSent: false
      }
      queue.push(batch)
    }
    batch.events.push(one)
    batch.size += event.size
    event.batch = batch
    this.#sequences.set(key, sequenceAfter(sequence))
  }

  /**
   * All events without a key that are published in one turn of the event loop go to one partition: Kafka writes one
   * batch instead of several.
   */
  #turnOf(topic: string, count: number): number {
    const turn = this.#turns.get(topic) ?? 0
    if (this.#turns.size > 1_024) this.#turns.clear()
    this.#turns.set(topic, turn)
    return turn % count
  }

  /** Sends what waits, to brokers that have fewer than `UNDER_WAY` requests. */
  #run(): void {
    if (!this.isConnected) return
    if (this.#isForgotten && this.#underWay.size === 0) this.#renew()
    while (!this.#isForgotten) {
      const requests = this.#next()
      if (requests.size === 0) return
      for (const [leader, batches] of requests) void this.#send(leader, batches)
    }
  }

  /** The next request for each broker. */
  #next(): ReadonlyMap<number, readonly Batch[]> {
    const byLeader = new Map<number, Batch[]>()
    const sizes = new Map<number, number>()
    for (const [key, queue] of this.#waiting) {
      const batch = queue.find(({ isUnderWay }) => !isUnderWay)
      if (batch === undefined) {
        if (queue.length === 0) this.#waiting.delete(key)
        continue
      }
      if (batch !== queue[0] && !this.#begun.has(key)) continue
      const leader = this.#connection.cluster.topic(batch.topic)?.leaders[batch.partition] ?? -1
      if ((this.#underWay.get(leader) ?? 0) >= UNDER_WAY) continue
      const batches = byLeader.get(leader)
      const size = batch.size + (sizes.get(leader) ?? 0)
      if (batches === undefined) byLeader.set(leader, [batch])
      else if (size <= MOST_TOGETHER) batches.push(batch)
      else continue
      sizes.set(leader, size)
    }
    return byLeader
  }

  async #send(leader: number, batches: readonly Batch[]): Promise<void> {
    this.#underWay.set(leader, (this.#underWay.get(leader) ?? 0) + 1)
    const { cluster } = this.#connection
    for (const batch of batches) {
      batch.isUnderWay = batch.wasSent = true
      this.#turns.set(batch.topic, (this.#turns.get(batch.topic) ?? 0) + 1)
      // At the end, so that the other partitions are next.
      const key = keyOf(batch)
      const queue = this.#queue(batch)
      this.#waiting.delete(key)
      this.#waiting.set(key, queue)
    }
    try {
      this.#id ??= cluster.askAny((broker) => broker.newProducerId())
      const { producerId, producerEpoch } = await this.#id.catch((error) => {
        this.#id = undefined
        throw error
      })
      const numbered = batches.map(({ topic, partition, timestamp, sequence, events }) => ({
        topic,
        partition,
        timestamp,
        records: events.map(({ event }) => event.bytes),
        by: { producerId, producerEpoch, sequence }
      }))
      const { responses } = await cluster.ask(leader, 'events', (broker) =>
        broker.produce(-1, STORED_WITHIN, numbered)
      )
      for (const { name, partitionResponses } of responses)
        for (const { index, baseOffset } of partitionResponses) this.#stored(batches, name, index, baseOffset)
    } catch (error) {
      await this.#failed(batches, error)
    }
    for (const batch of batches) batch.isUnderWay = false
    const left = (this.#underWay.get(leader) ?? 1) - 1
    if (left > 0) this.#underWay.set(leader, left)
    else this.#underWay.delete(leader)
    this.#run()
  }

  #leave(batch: Batch): void {
    const queue = this.#queue(batch)
    const at = queue.indexOf(batch)
    if (at >= 0) queue.splice(at, 1)
  }

  #stored(batches: readonly Batch[], topic: string, partition: number, baseOffset: bigint): void {
    const batch = batches.find((one) => one.topic === topic && one.partition === partition)
    if (batch === undefined) return
    this.#leave(batch)
    this.#begun.add(keyOf(batch))
    for (const [index, { number }] of batch.events.entries()) {
      // Kafka had stored the batch before, and does not say at which position.
      const position =
        baseOffset < 0n
          ? undefined
          : positionOf({ partition, offset: Number(baseOffset) + index, timestamp: batch.timestamp })
      this.#publisher.stored(number, position, false)
    }
  }

  async #failed(batches: readonly Batch[], error: unknown): Promise<void> {
    // The connection was lost: the publisher appends the events again.
    if (!this.isConnected) return
    const refused = refusedIn(error)
    for (const batch of batches) {
      const { code, offset } = refused.get(`${batch.topic} ${batch.partition}`) ?? { code: 0, offset: -1n }
      if (refused.size === 0) {
        this.#refuse(batch, notStored(batch.topic, error), true)
        continue
      }
      if (code === 0 || code === Code.duplicateSequence) {
        this.#stored(batches, batch.topic, batch.partition, code === 0 ? -1n : offset)
        continue
      }
      const isTooLarge = code === Code.messageTooLarge || code === Code.recordListTooLarge
      // The topic takes less than a batch: its events are sent again in smaller ones, by a new producer, because this
      // one has given them their sequence numbers.
      const isSplit = isTooLarge && batch.events.length > 1
      if (isSplit) this.#mostOf.set(batch.topic, batch.size / 2)
      if (isSplit || FORGOTTEN.has(code)) this.#isForgotten = true
      const isFinal = (isTooLarge && !isSplit) || code === Code.topicAuthorization
      this.#refuse(
        batch,
        isFinal ? refusal(batch.topic, code, error) : notStored(batch.topic, error),
        !isFinal
      )
    }
    await this.#connection.cluster.refresh([...new Set(batches.map(({ topic }) => topic))]).catch(() => {})
  }

  /**
   * Refuses a batch. If its events are sent again later, the events behind this batch are refused, too: otherwise they
   * would be stored first.
   *
   * @param isForNow the reason is temporary, so the events are sent again
   */
  #refuse(batch: Batch, error: NotStoredError | EventRefusedError, isForNow: boolean): void {
    const refused = [batch]
    if (isForNow) refused.push(...this.#queue(batch).filter((one) => one !== batch && !one.isUnderWay))
    // The batches behind this batch have sequence numbers that the brokers will never expect.
    else this.#isForgotten = true
    for (const one of refused) this.#leave(one)
    this.#begun.delete(keyOf(batch))
    const events = refused.flatMap((one) => one.events)
    if (isForNow) events.push(...this.#collected.splice(0))
    for (const { number } of events) this.#publisher.refused(number, error, isForNow)
  }

  /**
   * Replaces the producer, because the brokers no longer accept its sequence numbers: the waiting events get new
   * ones.
   */
  #renew(): void {
    const waiting = [...this.#waiting.values()].flat()
    this.#isForgotten = false
    this.#id = undefined
    this.#producer++
    this.#sequences = new Map()
    this.#begun.clear()
    this.#waiting.clear()
    for (const batch of waiting) this.#refuse(batch, notStored(batch.topic, undefined), true)
  }
}

function keyOf({ topic, partition }: Place): string {
  return `${topic} ${partition}`
}

/** Errors which say that the brokers no longer know the producer, or miss a batch before this one. */
const FORGOTTEN: ReadonlySet<number> = new Set([
  Code.outOfOrderSequence,
  Code.invalidProducerEpoch,
  Code.unknownProducer
])

function notStored(topic: string, cause: unknown): NotStoredError {
  return new NotStoredError(`Kafka does not store the event '${topic}' now`, true, cause)
}

function refusal(topic: string, code: number, cause: unknown): NotStoredError | EventRefusedError {
  return code === Code.topicAuthorization
    ? new NotStoredError(
        `Kafka does not let this client write to the topic '${topic}'; give its user the right to Write`,
        false,
        cause
      )
    : new EventRefusedError(
        `The event '${topic}' is larger than Kafka accepts; make the event smaller`,
        cause
      )
}
