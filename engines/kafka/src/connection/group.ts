/** A consumer group as its coordinator knows it: the positions that the group has committed. */
import { ConnectionError, ListenError } from '@elysia-microservices/transport/kit'
import type { GroupOffset, Partition } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn, reasonOf } from './errors.ts'

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
    this.#coordinator = await this.cluster.askAny((broker) => broker.coordinator(this.name))
    return this.#coordinator
  }

  /** The ids of the members. */
  members(): Promise<readonly string[]> {
    return this.ask((node) => this.cluster.ask(node, 'main', (broker) => broker.members(this.name)))
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
    const known = await this.ask((node) =>
      this.cluster.ask(node, 'groups', (broker) =>
        broker.committed(this.name, memberId, memberEpoch, partitions)
      )
    )
    const topicIds = new Map(partitions.map(({ topic, topicId }) => [topic, topicId]))
    return known.map(({ topic, partition, next, metadata: stored }) => {
      // A position that another program has committed, such as Kafka's own tools, names no topic id.
      const { topicId = topicIds.get(topic) ?? '', metadata } = readMetadata(stored)
      return { topic, topicId, partition, next, metadata }
    })
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
        const offsets = current.map(offsetOf)
        try {
          await cluster.ask(node, 'groups', (broker) =>
            broker.commit(this.name, memberId, memberEpoch(), offsets)
          )
        } catch (error) {
          // The request names topics by their names. While it is repeated, a deleted topic may be created again.
          if (codesIn(error).includes(Code.unknownTopic))
            await cluster.refresh([...new Set(current.map(({ topic }) => topic))])
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

/** A position as brokers store it: the id of the topic is in front of the metadata. */
function offsetOf({ topic, topicId, partition, next, metadata }: Committed): GroupOffset {
  return { topic, partition, next, metadata: `${topicId} ${metadata}` }
}

/**
 * Reads the metadata that brokers store beside a position: first the id of the topic. The position was committed under
 * the topic's name, perhaps by a process that did not know that the topic had been deleted and created again.
 */
export function readMetadata(stored: string): { readonly topicId?: string; readonly metadata: string } {
  const [, topicId, metadata = ''] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}) (.*)$/s.exec(stored) ?? []
  return topicId === undefined ? { metadata: stored } : { topicId, metadata }
}
