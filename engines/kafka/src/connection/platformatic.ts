/** The driver over @platformatic/kafka. No other file of this package sends a request to a broker. */
import { isIP } from 'node:net'
import { LONGEST_TIME, unlessAborted } from '@elysia-microservices/transport/kit'
import {
  type API,
  Connection,
  consumerGroupHeartbeatV1,
  deleteTopicsV6,
  findCoordinatorV6,
  initProducerIdV5,
  listGroupsV5,
  listOffsetsV9,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  type SASLOptions
} from '@platformatic/kafka'
import type {
  Batch,
  Broker,
  Driver,
  DriverConnection,
  FetchedBytes,
  GroupOffset,
  Heartbeat,
  HeartbeatAnswer,
  Isolation,
  MadeTopic,
  Metadata,
  NewTopic,
  Partition,
  Produced,
  ProducerId,
  Wanted
} from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { grouped } from '../words/grouped.ts'
import { createTopicsApi, describeGroupApi } from './corrected-apis.ts'
import { fetchApi, produceApi } from './record-apis.ts'

/** Bytes of the answer to one fetch request, for all partitions and for one partition. */
const MOST_BYTES = 4 * 1024 * 1024
const MOST_OF_ONE = 1024 * 1024

/** Connects to brokers by @platformatic/kafka. */
export const platformatic: Driver = {
  async connect(broker, options, clientId, closed, signal) {
    const connection = newConnection(broker, options, clientId)
    // Nothing to do: the driver reports each failure as the failure of a request, too.
    connection.on('error', () => {})
    connection.once('close', () => {
      // Ends the driver's timer for logging in again, which would keep the process running.
      void connection.close()
      closed()
    })
    await unlessAborted(connection.connect(broker.host, broker.port), signal, () => {
      connection.socket.destroy()
      // Ends the timer of the attempt, which would keep the process running.
      connection.emit('error', new Error('The attempt to connect was given up'))
    })
    return new PlatformaticConnection(broker, connection)
  }
}

/** The name that a broker's certificate is asked for. Addresses of brokers are no names: Node warns of them. */
export function serverName(host: string, given: string | undefined): string {
  return given ?? (isIP(host) === 0 ? host : '')
}

function newConnection(
  { host }: Broker,
  { connectTimeout, tls, sasl, servername }: CheckedOptions,
  clientId: string
): Connection {
  return new Connection(clientId, {
    connectTimeout,
    // The driver ends a request that times out a second time when its connection is closed, and then throws where
    // nobody can catch it. `Connections` limits the time instead.
    requestTimeout: LONGEST_TIME,
    // The driver keeps none in its queue: when a connection ends, it fails the requests of its queue from within each
    // other, so a thousand of them would end the process.
    maxInflights: Number.MAX_SAFE_INTEGER,
    ...(tls && { tls, tlsServerName: serverName(host, servername) }),
    ...(sasl && { sasl: sasl as SASLOptions })
  })
}

class PlatformaticConnection implements DriverConnection {
  readonly broker: Broker
  readonly #connection: Connection

  constructor(broker: Broker, connection: Connection) {
    this.broker = broker
    this.#connection = connection
  }

  #ask<Args extends unknown[], Answer>(api: API<Args, Answer>, ...args: Args): Promise<Answer> {
    return api.async(this.#connection, ...args)
  }

  metadata(topics: readonly string[] | null): Promise<Metadata> {
    return this.#ask(metadataV12.api, topics && [...topics], false, false)
  }

  createTopics(topics: readonly NewTopic[], within: number): Promise<readonly MadeTopic[]> {
    const wanted = topics.map(({ name, partitions, replicas, configs }) => ({
      name,
      numPartitions: partitions,
      replicationFactor: replicas,
      assignments: [],
      configs: Object.entries(configs).map(([name, value]) => ({ name, value }))
    }))
    return this.#ask(createTopicsApi, wanted, within, false)
  }

  deleteTopics(names: readonly string[], within: number): Promise<unknown> {
    const topics = names.map((name) => ({ name, topicId: null }))
    return this.#ask(deleteTopicsV6.api, topics, within)
  }

  produce(acks: number, within: number, batches: readonly Batch[]): Promise<Produced> {
    return produceApi.async(this.#connection, acks, within, batches)
  }

  fetch(wanted: readonly Wanted[], isolation: Isolation, patience: number): Promise<readonly FetchedBytes[]> {
    const topics = wanted.map(({ topicId, partitions }) => ({
      topicId,
      partitions: partitions.map(({ partition, next }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: next,
        lastFetchedEpoch: -1,
        partitionMaxBytes: MOST_OF_ONE
      }))
    }))
    return this.#ask(fetchApi, patience, 1, MOST_BYTES, isolation, 0, -1, topics, [], '')
  }

  async listOffsets(
    topic: string,
    partitions: readonly number[],
    timestamp: bigint,
    isolation: Isolation
  ): Promise<Map<number, bigint>> {
    const wanted = partitions.map((partitionIndex) => ({
      partitionIndex,
      currentLeaderEpoch: -1,
      timestamp
    }))
    const { topics } = await this.#ask(listOffsetsV9.api, -1, isolation, [
      { name: topic, partitions: wanted }
    ])
    const positions = new Map<number, bigint>()
    for (const { partitions: answered } of topics)
      for (const { partitionIndex, offset } of answered) positions.set(partitionIndex, offset)
    return positions
  }

  newProducerId(): Promise<ProducerId> {
    return this.#ask(initProducerIdV5.api, null, 0, -1n, -1)
  }

  async coordinator(group: string): Promise<number> {
    const { coordinators } = await this.#ask(findCoordinatorV6.api, 0, [group])
    return coordinators[0]?.nodeId ?? -1
  }

  heartbeat(heartbeat: Heartbeat): Promise<HeartbeatAnswer> {
    const { group, memberId, memberEpoch, releasedWithin, topics, owned } = heartbeat
    const partitions = owned.map(({ topicId, partitions }) => ({ topicId, partitions: [...partitions] }))
    return this.#ask(
      consumerGroupHeartbeatV1.api,
      group,
      memberId,
      memberEpoch,
      null,
      null,
      releasedWithin,
      [...topics],
      null,
      null,
      partitions
    )
  }

  commit(
    group: string,
    memberId: string,
    memberEpoch: number,
    positions: readonly GroupOffset[]
  ): Promise<unknown> {
    const topics = [...grouped(positions, ({ topic }) => topic)].map(([name, of]) => ({
      name,
      partitions: of.map(({ partition, next, metadata }) => ({
        partitionIndex: partition,
        committedOffset: next,
        committedLeaderEpoch: -1,
        committedMetadata: metadata
      }))
    }))
    return this.#ask(offsetCommitV9.api, group, memberEpoch, memberId, null, topics)
  }

  async committed(
    group: string,
    memberId: string | null,
    memberEpoch: number,
    partitions: readonly Partition[]
  ): Promise<readonly GroupOffset[]> {
    const topics = [...grouped(partitions, ({ topic }) => topic)].map(([name, of]) => ({
      name,
      partitionIndexes: of.map(({ partition }) => partition)
    }))
    const { groups } = await this.#ask(
      offsetFetchV9.api,
      [{ groupId: group, memberId, memberEpoch, topics }],
      false
    )
    const known: GroupOffset[] = []
    for (const { name: topic, partitions: of } of groups[0]?.topics ?? [])
      for (const { partitionIndex: partition, committedOffset: next, metadata } of of)
        if (next >= 0n) known.push({ topic, partition, next, metadata: metadata ?? '' })
    return known
  }

  members(group: string): Promise<readonly string[]> {
    return this.#ask(describeGroupApi, [group], false)
  }

  async groups(): Promise<readonly string[]> {
    const { groups } = await this.#ask(listGroupsV5.api, [], [])
    return groups.map(({ groupId }) => groupId)
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }

  destroy(): void {
    this.#connection.socket.destroy()
  }
}
