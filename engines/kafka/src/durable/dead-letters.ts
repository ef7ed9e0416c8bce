/**
 * The dead letters of a group: records of the topics `<pattern>.dlt`, each with a key of its own. To delete a dead
 * letter, or after it was sent again, a record with its key and without a value is written: Kafka then deletes both
 * at its next compaction.
 */
import { newSecret } from '@elysia-microservices/engine'
import {
  type DeadLetter,
  type DeadLetters,
  EventRefusedError,
  type ListDeadLettersOptions
} from '@elysia-microservices/transport/kit'
import type { Cluster, WantedTopic } from '../connection/cluster.ts'
import { Code, codesIn, readableError } from '../connection/errors.ts'
import { positionOf } from '../connection/positions.ts'
import { EARLIEST, LATEST } from '../driver.ts'
import { type ReadRecords, readBatches } from '../words/batch.ts'
import { HEADER } from '../words/headers.ts'
import { deadOf, isDead, retryOf, topicOfDead } from '../words/names.ts'
import type { Fetched } from '../words/record.ts'
import { put } from './copies.ts'
import { Source } from './partition.ts'
import { deadLetterOf, headersOfCopy, KafkaEvent } from './stored.ts'

/** The topic for the dead letters of a pattern. */
export function topicForDead(pattern: string): WantedTopic {
  return { name: deadOf(pattern), partitions: 1, configs: { 'cleanup.policy': 'compact' } }
}

/** A key for a new dead letter. */
export function keyOfDead(): Buffer {
  return Buffer.from(newSecret() + newSecret())
}

/** Milliseconds that a broker waits for records of which it has said that they are there. */
const PATIENCE = 500

interface Found {
  readonly letter: DeadLetter
  readonly topic: string
  readonly fetched: Fetched
}

/** The dead letters of one group. */
export class KafkaDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #connect: () => Promise<Cluster>

  constructor(group: string, connect: () => Promise<Cluster>) {
    this.#group = group
    this.#connect = connect
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    const cluster = await this.#connect()
    const letters: DeadLetter[] = []
    try {
      for (const name of await cluster.allTopics())
        if (isDead(name)) for (const { letter } of await this.#read(cluster, name)) letters.push(letter)
    } catch (error) {
      throw readableError(error, `The dead letters of the group '${this.#group}' cannot be read`)
    }
    letters.sort((one, other) => one.diedAt.getTime() - other.diedAt.getTime())
    yield* letters.slice(0, Math.min(limit, letters.length))
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    return (await this.#find(position))?.found.letter
  }

  async discard(position: string): Promise<boolean> {
    const known = await this.#find(position)
    if (known === undefined) return false
    await this.#forget(known)
    return true
  }

  async redrive(position: string): Promise<boolean> {
    const known = await this.#find(position)
    if (known === undefined) return false
    const { topic, fetched, letter } = known.found
    if (letter.leftOut?.includes('data') === true)
      throw new EventRefusedError(
        `The dead letter ${position} cannot be redriven: its data were too large to be kept. The event itself was stored at position ${fetched.header(HEADER.position)} of its topic`
      )
    const pattern = topicOfDead(topic)
    const source = new Source(pattern, { topic, topicId: '', partition: 0, next: 0n, metadata: '' })
    const event = new KafkaEvent(source, fetched)
    const said = { [HEADER.group]: this.#group, [HEADER.attempts]: '0', [HEADER.due]: '0' }
    const headers = { ...headersOfCopy(event, said), [HEADER.reason]: undefined }
    const key = fetched.header(HEADER.key)
    await put(
      known.cluster,
      { name: retryOf(pattern, 1) },
      {
        partition: event.place.partition,
        key: key === undefined ? undefined : Buffer.from(key),
        value: fetched.value,
        headers
      }
    )
    await this.#forget(known)
    return true
  }

  async #forget({ cluster, found }: { readonly cluster: Cluster; readonly found: Found }): Promise<void> {
    const { topic, fetched } = found
    await put(cluster, { name: topic }, { partition: 0, key: fetched.key, value: undefined })
  }

  async #find(position: string): Promise<{ readonly cluster: Cluster; readonly found: Found } | undefined> {
    const [, topic = '', offset = ''] = /^([\w.-]+\.dlt):(\d{1,15})$/.exec(position) ?? []
    const cluster = await this.#connect()
    if (topic === '' || (await cluster.lookUp(topic)) === undefined) return undefined
    let found: Found | undefined
    try {
      found = (await this.#read(cluster, topic, BigInt(offset)))[0]
    } catch (error) {
      throw readableError(error, `The dead letter ${position} cannot be read`)
    }
    return found?.letter.position === position ? { cluster, found } : undefined
  }

  /**
   * Reads the dead letters of the group that a topic has and that are not deleted.
   * @param from the position of the first record to read; default: the first record of the topic
   */
  async #read(cluster: Cluster, topic: string, from?: bigint): Promise<Found[]> {
    const found = new Map<string, Found>()
    for await (const fetched of readAll(cluster, topic, from)) {
      const name = fetched.keyText ?? ''
      const group = fetched.header(HEADER.group)
      if (fetched.value === undefined && group === undefined) found.delete(name)
      else if (group === this.#group) {
        const position = `${topic}:${fetched.offset}`
        found.set(name, {
          letter: deadLetterOf(topicOfDead(topic), position, this.#group, fetched),
          topic,
          fetched
        })
      }
    }
    return [...found.values()]
  }
}

/** All records that the first partition of a topic has at the moment of the call. */
async function* readAll(cluster: Cluster, topic: string, from?: bigint): AsyncGenerator<Fetched> {
  const first = await positionOf(cluster, topic, 0, EARLIEST)
  const end = await positionOf(cluster, topic, 0, LATEST)
  let next = from === undefined || from < first ? first : from
  while (next < end) {
    let read: ReadRecords
    try {
      const [answer] = await cluster.persist([topic], async () => {
        const wanted = { topicId: cluster.topic(topic)?.id ?? '', partitions: [{ partition: 0, next }] }
        return cluster.ask(await cluster.leaderOf(topic, 0), 'dead', (broker) =>
          broker.fetch([wanted], cluster.isolation, PATIENCE)
        )
      })
      read = readBatches(answer?.bytes ?? Buffer.alloc(0), Number(next), answer?.aborted)
    } catch (error) {
      // Kafka has deleted the records in between.
      if (codesIn(error).includes(Code.offsetOutOfRange)) return
      throw error
    }
    if (BigInt(read.next) === next) return
    yield* read.records
    next = BigInt(read.next)
  }
}
