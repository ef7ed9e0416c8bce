/**
 * Stores records that must be stored before something else counts as done: copies of events, dead letters, pauses of
 * groups.
 */
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { Cluster, WantedTopic } from '../connection/cluster.ts'
import { produceApi } from '../connection/record-apis.ts'
import { writeRecord } from '../words/record.ts'

/** Milliseconds within which all replicas must have stored the record. */
const STORED_WITHIN = 10_000

/** The content of a record. */
export interface Copy {
  readonly partition: number
  readonly key: Buffer | undefined
  /** `undefined`: the record deletes the earlier records with the same key. */
  readonly value: Buffer | undefined
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/**
 * Stores a record in a topic, which is created if it is missing. Resolves when the record is stored.
 * @throws {NotStoredError} the record is not stored
 */
export async function put(cluster: Cluster, topic: WantedTopic, copy: Copy): Promise<void> {
  const { name } = topic
  try {
    if ((await cluster.lookUp(name)) === undefined) await cluster.ensure([topic])
    const partition = copy.partition % (cluster.topic(name)?.leaders.length ?? 1)
    await cluster.persist([name], async () => {
      const leader = await cluster.leaderOf(name, partition)
      const records = [writeRecord(copy.key, copy.value, copy.headers)]
      const batch = { topic: name, partition, records, timestamp: Date.now() }
      await cluster.ask(leader, 'main', produceApi, -1, STORED_WITHIN, [batch])
    })
  } catch (error) {
    throw new NotStoredError(`Kafka does not store a record in '${name}' now`, true, error)
  }
}
