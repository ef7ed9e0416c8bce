/** The stored events of a client over Kafka: publishing, dead letters, pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  noBacklog,
  PublishingStore
} from '@elysia-microservices/engine'
import {
  ConnectionError,
  type DeadLetters,
  ListenError,
  NotStoredError
} from '@elysia-microservices/transport/kit'
import { readableError } from '../connection/errors.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { COST_OF_RECORD } from '../words/batch.ts'
import { HEADER } from '../words/headers.ts'
import { type WrittenHeaders, writeRecord } from '../words/record.ts'
import { writeValue } from '../words/values.ts'
import { KafkaDeadLetters } from './dead-letters.ts'
import { EventStore } from './event-store.ts'
import { membersOf, pauseGroup } from './groups.ts'
import { cloudEvent, type StoredRecord } from './stored.ts'

/** Topics whose headers are remembered: a program may make its patterns at run time. */
const MOST_COMMON = 1_024

/** Publishes and manages stored events, over the current connection of the client. */
export class KafkaClientStore extends PublishingStore<KafkaConnection, StoredRecord> {
  /** The headers that all events of a topic have, by topic. */
  readonly #common = new Map<string, WrittenHeaders>()

  constructor(init: ClientStoreInit<KafkaConnection>) {
    super(init, {
      ensure: async (pattern) => {
        const { cluster } = await init.connect()
        try {
          await cluster.ensure([{ name: pattern }])
        } catch (error) {
          // A missing right does not come back by itself, so the client must not retry.
          const isOurs = error instanceof ListenError || error instanceof ConnectionError
          if (isOurs && error.retryable === false) throw new NotStoredError(error.message, false, error)
          throw new NotStoredError(`The topic of the event '${pattern}' cannot be looked up now`, true, error)
        }
      },
      // Kafka keeps no ids of events. An event that is sent again has the same number, and by this number Kafka
      // stores it once, however late it comes.
      duplicateWindow: Number.POSITIVE_INFINITY,
      // Requests cost more than events: with 2,048 events at a time the processor does a seventh less work than with 512.
      window: 2_048,
      refusesGaps: true
    })
  }

  deadLetters(group: string): DeadLetters {
    return new KafkaDeadLetters(group, async () => (await this.connect()).cluster)
  }

  /** @throws {OptionError} always: see `docs/decisions.md` */
  override backlog(group: string): never {
    throw noBacklog(
      group,
      'Kafka keeps one position for each partition, and not which of the events behind it are done'
    )
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await membersOf((await this.connect()).cluster, group)) !== undefined
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const connection = await this.connect()
    try {
      await pauseGroup(connection, group, isPaused)
    } catch (error) {
      throw readableError(error, `The group '${group}' cannot be paused or resumed`)
    }
  }

  attach(connection: KafkaConnection): void {
    this.publisher.attach(new EventStore(connection, this.publisher))
  }

  protected outgoing(head: EventHead, { json, key, headers }: EventContent): StoredRecord {
    const { value, type } = writeValue(json)
    const own = { [HEADER.id]: head.id, [HEADER.key]: key, [HEADER.type]: type }
    const bytes = writeRecord(key, value, own, headers, this.#commonOf(head.address))
    return { ...head, size: bytes.length + COST_OF_RECORD, key, bytes }
  }

  #commonOf(topic: string): WrittenHeaders {
    let common = this.#common.get(topic)
    if (common !== undefined) return common
    common = cloudEvent(topic)
    if (this.#common.size >= MOST_COMMON) this.#common.clear()
    this.#common.set(topic, common)
    return common
  }
}
