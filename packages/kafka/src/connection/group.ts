/** A consumer group as its coordinator knows it: the positions that the group has committed. */
import { ConnectionError, ListenError } from '@elysia-microservices/transport/kit'
import { findCoordinatorV6, offsetCommitV9, offsetFetchV9 } from '@platformatic/kafka'
import { grouped } from '../words/grouped.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn, reasonOf } from './errors.ts'

/** A committed position, with the metadata that is stored beside the position. */
export interface Committed {
  readonly topic: string
  readonly partition: number
  readonly next: bigint
  readonly metadata: string
}

/** One partition of a topic. */
export interface Partition {
  readonly topic: string
  readonly partition: number
}

/**
 * Returns the positions at which a group begins in partitions without a committed position. `isNew`: the group has no
 * position in any partition of the topic.
 */
type Begin = (
  topic: string,
  partitions: readonly number[],
  isNew: boolean
) => Promise<ReadonlyMap<number, bigint>>

/** A consumer group: finds its coordinator, and sends requests to the coordinator. */
export class Group {
  readonly name: string
  readonly cluster: Cluster
  #coordinator: number | undefined

  constructor(cluster: Cluster, name: string) {
    this.cluster = cluster
    this.name = name
  }

  async coordinator(): Promise<number> {
    if (this.#coordinator !== undefined) return this.#coordinator
    const { coordinators } = await this.cluster.askAny(findCoordinatorV6.api, 0, [this.name])
    this.#coordinator = coordinators[0]?.nodeId ?? -1
    return this.#coordinator
  }

  /** Sends a request to the coordinator. The request is repeated while the group moves to another coordinator. */
  ask<Result>(task: (node: number) => Promise<Result>): Promise<Result> {
    return this.cluster.persist([], async () => {
      try {
        return await task(await this.coordinator())
      } catch (error) {
        this.#coordinator = undefined
        throw error
      }
    })
  }

  /** The committed positions of a group; partitions without a committed position are left out. */
  async committed(
    partitions: readonly Partition[],
    memberId: string | null = null,
    memberEpoch = -1
  ): Promise<Committed[]> {
    if (partitions.length === 0) return []
    const wanted = [...byTopic(partitions)].map(([name, partitionIndexes]) => ({ name, partitionIndexes }))
    const { groups } = await this.ask((node) =>
      this.cluster.ask(
        node,
        'groups',
        offsetFetchV9.api,
        [{ groupId: this.name, memberId, memberEpoch, topics: wanted }],
        false
      )
    )
    const known: Committed[] = []
    for (const { name: topic, partitions: of } of groups[0]?.topics ?? [])
      for (const { partitionIndex: partition, committedOffset: next, metadata } of of)
        if (next >= 0n) known.push({ topic, partition, next, metadata: metadata ?? '' })
    return known
  }

  /** Commits positions. @param memberId default: no member, which brokers allow while the group has no members */
  async commit(
    positions: readonly Committed[],
    memberId = '',
    memberEpoch: () => number = () => -1
  ): Promise<void> {
    if (positions.length === 0) return
    const topics = [...grouped(positions, ({ topic }) => topic)].map(([name, of]) => ({
      name,
      partitions: of.map(({ partition, next, metadata }) => ({
        partitionIndex: partition,
        committedOffset: next,
        committedLeaderEpoch: -1,
        committedMetadata: metadata
      }))
    }))
    await this.ask((node) =>
      this.cluster.ask(node, 'groups', offsetCommitV9.api, this.name, memberEpoch(), memberId, null, topics)
    )
  }

  /**
   * Commits a first position in each partition in which the group has none. From then on the group gets all new
   * events, also those that arrive while the group has no members.
   * @param begin returns the first positions; `isNew`: the group has no position in any partition of the topic
   */
  async begin(topics: readonly string[], begin: Begin): Promise<void> {
    try {
      await this.#begin(topics, begin)
    } catch (error) {
      throw error instanceof ConnectionError ? error : this.refusal(error)
    }
  }

  /** The error for a user who may not join the group, or for another failure of joining. */
  refusal(cause: unknown): ListenError {
    const why = codesIn(cause).includes(Code.groupAuthorization)
      ? new Error('this user may not join the group; give the user the rights Read and Describe on the group')
      : new Error(reasonOf(cause))
    return new ListenError(`Kafka as a member of the group '${this.name}'`, why)
  }

  async #begin(topics: readonly string[], begin: Begin): Promise<void> {
    const all = topics.flatMap((topic) =>
      (this.cluster.topic(topic)?.leaders ?? []).map((_, partition) => ({ topic, partition }))
    )
    const known = byTopic(await this.committed(all))
    const begun = await Promise.all(
      [...byTopic(all)].map(async ([topic, partitions]) => {
        const of = known.get(topic) ?? []
        const unknown = partitions.filter((partition) => !of.includes(partition))
        const positions = unknown.length === 0 ? [] : await begin(topic, unknown, of.length === 0)
        return [...positions].map(([partition, next]) => ({ topic, partition, next, metadata: '' }))
      })
    )
    try {
      await this.commit(begun.flat())
    } catch (error) {
      // The group has members, and the members commit the first positions themselves.
      if (!codesIn(error).some((code) => code === Code.unknownMember || code === Code.staleMember))
        throw error
    }
  }
}

/** The numbers of the partitions, by topic. */
export function byTopic(partitions: readonly Partition[]): Map<string, number[]> {
  const topics = grouped(partitions, ({ topic }) => topic)
  return new Map([...topics].map(([topic, of]) => [topic, of.map(({ partition }) => partition)]))
}
