/** A consumer group as its coordinator knows it: the positions that the group has committed. */
import { ConnectionError, ListenError } from '@elysia-microservices/transport/kit'
import { findCoordinatorV6, offsetCommitV9, offsetFetchV9 } from '@platformatic/kafka'
import { grouped } from '../words/grouped.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn, reasonOf } from './errors.ts'

/** One partition of a topic. */
export interface Partition {
  readonly topic: string
  readonly partition: number
}

/** One partition, with the id of its topic: a topic that is deleted and created again has another id. */
export interface IdentifiedPartition extends Partition {
  readonly topicId: string
}

/** A committed position, with the metadata that is stored beside the position. */
export interface Committed extends IdentifiedPartition {
  readonly next: bigint
  readonly metadata: string
}

/** In which partitions of a topic a group has positions; `of a deleted topic`: only in a topic that had this name. */
export type Before = 'none' | 'some' | 'of a deleted topic'

/** Returns the positions at which a group begins in partitions without a committed position. */
type Begin = (
  topic: string,
  partitions: readonly number[],
  before: Before
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

  /**
   * The committed positions of a group, each with the id of the topic for which it was committed. Partitions without
   * a committed position are left out.
   */
  async committed(
    partitions: readonly IdentifiedPartition[],
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
    const topicIds = new Map(partitions.map(({ topic, topicId }) => [topic, topicId]))
    const known: Committed[] = []
    for (const { name: topic, partitions: of } of groups[0]?.topics ?? [])
      for (const { partitionIndex: partition, committedOffset: next, metadata: stored } of of) {
        if (next < 0n) continue
        // A position that another program has committed, such as Kafka's own tools, names no topic id.
        const { topicId = topicIds.get(topic) ?? '', metadata } = readMetadata(stored ?? '')
        known.push({ topic, topicId, partition, next, metadata })
      }
    return known
  }

  /**
   * Commits positions. A position of a topic that was deleted, or deleted and created again, is left out: it means
   * nothing any more.
   * @param memberId default: no member, which brokers allow while the group has no members
   */
  async commit(
    positions: readonly Committed[],
    memberId = '',
    memberEpoch: () => number = () => -1
  ): Promise<void> {
    if (positions.length === 0) return
    const { cluster } = this
    const names = [...new Set(positions.map(({ topic }) => topic))]
    try {
      await this.ask(async (node) => {
        await Promise.all(names.map((name) => cluster.lookUp(name)))
        const current = positions.filter(
          ({ topic, topicId }) => topicId === (cluster.topic(topic)?.id ?? topicId)
        )
        if (current.length === 0) return
        const topics = commitsOf(current)
        try {
          await cluster.ask(
            node,
            'groups',
            offsetCommitV9.api,
            this.name,
            memberEpoch(),
            memberId,
            null,
            topics
          )
        } catch (error) {
          // The request names topics by their names. While it is repeated, a deleted topic may be created again.
          if (codesIn(error).includes(Code.unknownTopic))
            await cluster.refresh(topics.map(({ name }) => name))
          throw error
        }
      })
    } catch (error) {
      // A topic that the brokers do not know during all attempts was deleted.
      const codes = codesIn(error)
      if (codes.length === 0 || codes.some((code) => code !== Code.unknownTopic)) throw error
    }
  }

  /**
   * Commits a first position in each partition in which the group has none. From then on the group gets all new
   * events, also those that arrive while the group has no members.
   * @param begin returns the first positions
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
    const described = topics.flatMap((topic) => this.cluster.topic(topic) ?? [])
    const committed = await this.committed(
      described.flatMap(({ name: topic, id: topicId, leaders }) =>
        leaders.map((_, partition) => ({ topic, topicId, partition }))
      )
    )
    const begun = await Promise.all(
      described.map(async ({ name: topic, id: topicId, leaders }) => {
        const ofTopic = committed.filter((position) => position.topic === topic)
        const valid = ofTopic.filter((position) => position.topicId === topicId)
        const unknown = [...leaders.keys()].filter((at) => !valid.some(({ partition }) => partition === at))
        const before = valid.length > 0 ? 'some' : ofTopic.length > 0 ? 'of a deleted topic' : 'none'
        const positions = unknown.length === 0 ? [] : await begin(topic, unknown, before)
        return [...positions].map(([partition, next]) => ({ topic, topicId, partition, next, metadata: '' }))
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

/** The part of a request to commit that names the positions. */
function commitsOf(positions: readonly Committed[]) {
  return [...grouped(positions, ({ topic }) => topic)].map(([name, of]) => ({
    name,
    partitions: of.map(({ topicId, partition, next, metadata }) => ({
      partitionIndex: partition,
      committedOffset: next,
      committedLeaderEpoch: -1,
      committedMetadata: `${topicId} ${metadata}`
    }))
  }))
}

/**
 * Reads the metadata that brokers store beside a position: first the id of the topic. The position was committed under
 * the topic's name, perhaps by a process that did not know that the topic had been deleted and created again.
 */
export function readMetadata(stored: string): { readonly topicId?: string; readonly metadata: string } {
  const [, topicId, metadata = ''] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}) (.*)$/s.exec(stored) ?? []
  return topicId === undefined ? { metadata: stored } : { topicId, metadata }
}
