/**
 * Receives the requests and events of a service, on the topics of its patterns. The processes of the service share a
 * topic as a consumer group, or each process receives every message. The position is committed before the handler
 * begins: when a process is killed, its running messages are lost, and no message runs twice.
 */
import type { Subject } from '@elysia-microservices/engine'
import { shown } from '@elysia-microservices/transport/kit'
import { EARLIEST, Isolation, LATEST, type Partition } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import { isOfProcess } from '../words/names.ts'
import type { Fetched } from '../words/record.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn } from './errors.ts'
import { Group } from './group.ts'
import { BEAT, Member } from './member.ts'
import { positionOf, positionsOf } from './positions.ts'
import { type FetchedPartition, Reader } from './reader.ts'

/** A record with a message for a service. */
export interface TakenRecord {
  readonly record: Fetched
  /** The record was stored before this process began to read the partition. */
  readonly isLate: boolean
}

export interface TakersListener {
  message(subject: Subject, taken: TakenRecord): void
  failed(error: unknown): void
}

/** Receives the messages of one service. */
export class Takers {
  readonly #cluster: Cluster
  readonly #listener: TakersListener
  #takers: Taker[] = []

  constructor(cluster: Cluster, listener: TakersListener) {
    this.#cluster = cluster
    this.#listener = listener
  }

  /**
   * Begins to receive the messages for subjects: all of them, or none. Topics that are missing are created.
   * @throws {ListenError} the brokers do not allow it to this user
   */
  async take(subjects: readonly Subject[], groupOf: (queue: string) => string): Promise<void> {
    if (subjects.length === 0) return
    await this.#cluster.ensure([...new Set(subjects.map(({ address }) => address))].map((name) => ({ name })))
    const begun: Taker[] = []
    for (const [queue, of] of grouped(subjects, ({ queue }) => queue)) {
      const group = queue === undefined ? undefined : new Group(this.#cluster, groupOf(queue))
      begun.push(new Taker(this.#cluster, group, of, `take ${queue ?? ''}`, this.#listener))
    }
    this.#takers.push(...begun)
    try {
      for (const taker of begun) await taker.start()
    } catch (error) {
      this.#takers = this.#takers.filter((taker) => !begun.includes(taker))
      await Promise.all(begun.map((taker) => taker.leave()))
      throw error
    }
  }

  /** Stops receiving. Resolves when all messages that were fetched have been given to the service. */
  async leave(): Promise<void> {
    const takers = this.#takers
    this.#takers = []
    await Promise.all(takers.map((taker) => taker.leave()))
    await this.#cluster.remove(takers.flatMap(({ topics }) => topics.filter(isOfProcess))).catch(() => {})
  }

  restored(): void {
    for (const taker of this.#takers) taker.restored()
  }
}

function deleted(topic: string, partition: number, next: bigint): Error {
  return new Error(
    `Kafka does not have the messages of '${shown(topic)}' that were to be read next, because it keeps them no longer; reading goes on at position ${next} of partition ${partition}`
  )
}

function cutOff(topic: string, partition: number, at: bigint, end: bigint): Error {
  return new Error(
    `Kafka has lost the end of '${shown(topic)}': messages were taken up to position ${at} of partition ${partition}, which ends at ${end}; reading goes on at its end, so that no message is handled twice, and messages stored since then up to position ${end} are not handled`
  )
}

/** Receives the messages of all subjects that share one queue. */
class Taker {
  readonly #cluster: Cluster
  readonly #listener: TakersListener
  readonly #subjects = new Map<string, Subject>()
  readonly #reader: Reader
  readonly #member: Member | undefined
  /** By partition: the position behind the records that were stored before this process began to read it. */
  readonly #begun = new Map<string, number>()

  constructor(
    cluster: Cluster,
    group: Group | undefined,
    subjects: readonly Subject[],
    purpose: string,
    listener: TakersListener
  ) {
    this.#cluster = cluster
    this.#listener = listener
    for (const subject of subjects) this.#subjects.set(subject.address, subject)
    this.#reader = new Reader(cluster, purpose, cluster.isolation, {
      receive: (fetched) => this.#receive(fetched),
      gone: async ({ topic, partition, isNewTopic, at }) => {
        if (isNewTopic && this.#member !== undefined) {
          this.#member.giveUp({ topic, partition })
          return undefined
        }
        const first = await positionOf(cluster, topic, partition, EARLIEST)
        if (isNewTopic) return first
        const end = await positionOf(cluster, topic, partition, LATEST, Isolation.uncommitted)
        // Of a partition that has lost its end, the messages that are left were taken before: none is handled twice.
        const next = at > end ? end : first
        listener.failed(at > end ? cutOff(topic, partition, at, end) : deleted(topic, partition, next))
        return next
      },
      failed: (error) => listener.failed(error)
    })
    this.#member =
      group &&
      new Member(
        group,
        [...this.#subjects.keys()],
        {
          assigned: (partitions) => {
            for (const { topic, topicId, partition, next } of partitions)
              this.#reader.add(topic, partition, next, topicId)
          },
          revoked: (partitions) => this.#revoked(partitions),
          lost: (partitions) => void this.#revoked(partitions),
          deleted: (partitions) => void this.#revoked(partitions),
          failed: (error) => listener.failed(error)
        },
        // The group has begun already, so a partition without a position is newer than the group: nothing in it was
        // read.
        (topic, partitions) => positionsOf(cluster, topic, partitions, EARLIEST),
        // Callers wait, and a service has one member for all of its patterns.
        { longest: BEAT }
      )
  }

  async start(): Promise<void> {
    if (this.#member === undefined) {
      for (const topic of this.#subjects.keys())
        for (const [partition] of this.#cluster.topic(topic)?.leaders.entries() ?? [])
          await this.#reader.addLatest(topic, partition)
      return
    }
    const { group } = this.#member
    const start = this.#cluster.options.start === 'all' ? EARLIEST : LATEST
    await group.begin([...this.#subjects.keys()], (topic, partitions, before) =>
      positionsOf(this.#cluster, topic, partitions, before === 'none' ? start : EARLIEST)
    )
    await this.#member.join()
  }

  get topics(): readonly string[] {
    return [...this.#subjects.keys()]
  }

  async leave(): Promise<void> {
    await this.#reader.stop()
    await this.#member?.leave()
  }

  restored(): void {
    this.#reader.restored()
    this.#member?.beat()
  }

  async #revoked(partitions: readonly Partition[]): Promise<void> {
    for (const { topic, partition } of partitions) {
      this.#reader.remove(topic, partition)
      this.#begun.delete(`${topic} ${partition}`)
    }
    await this.#reader.received()
  }

  async #receive(fetched: readonly FetchedPartition[]): Promise<void> {
    const member = this.#member
    if (member !== undefined && !(await this.#taken(member, fetched))) return
    for (const { topic, partition, records, end } of fetched) {
      const key = `${topic} ${partition}`
      const begun = this.#begun.get(key) ?? Number(end)
      this.#begun.set(key, begun)
      const subject = this.#subjects.get(topic)
      if (subject === undefined) continue
      for (const record of records) this.#listener.message(subject, { record, isLate: record.offset < begun })
    }
  }

  /**
   * Commits the positions behind records. @returns false: another member owns the partitions by now, or the commit
   * has failed
   */
  async #taken(member: Member, fetched: readonly FetchedPartition[]): Promise<boolean> {
    try {
      await member.commit(
        fetched.map(({ topic, topicId, partition, next }) => ({
          topic,
          topicId,
          partition,
          next,
          metadata: ''
        }))
      )
      return true
    } catch (error) {
      const isOthers = codesIn(error).some(
        (code) => code === Code.unknownMember || code === Code.fencedMember
      )
      // Unless another member owns the partitions, the same records are fetched again: they are not committed. With
      // the brokers lost, there is nothing to report.
      if (!isOthers && this.#cluster.isConnected) this.#listener.failed(error)
      for (const { topic, partition, records } of fetched) {
        const first = records[0]?.offset
        if (!isOthers && first !== undefined) this.#reader.back(topic, partition, BigInt(first))
      }
      return false
    }
  }
}
