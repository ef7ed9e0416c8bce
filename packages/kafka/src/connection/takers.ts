/**
 * Takes messages for a service: requests and events on the topics of its patterns, which it shares with its other
 * processes in a consumer group, or gets all. A message counts as taken before its handler begins: a process that is
 * killed loses its running messages, and none runs twice.
 */
import type { Subject } from '@elysia-microservices/transport/engine'
import { grouped } from '../words/grouped.ts'
import { isOfProcess } from '../words/names.ts'
import type { Fetched } from '../words/record.ts'
import type { Cluster } from './cluster.ts'
import { Code, codesIn } from './errors.ts'
import { Group, type Partition } from './group.ts'
import { Member } from './member.ts'
import { EARLIEST, type FetchedPartition, LATEST, positionOf, positionsOf, Reader } from './reader.ts'

/** A message for a service. */
export interface TakenRecord {
  readonly record: Fetched
  /** It has waited for a process of the service. */
  readonly isLate: boolean
}

export interface TakersListener {
  message(subject: Subject, taken: TakenRecord): void
  failed(error: unknown): void
}

/** Takes for one service. */
export class Takers {
  readonly #cluster: Cluster
  readonly #listener: TakersListener
  #takers: Taker[] = []

  constructor(cluster: Cluster, listener: TakersListener) {
    this.#cluster = cluster
    this.#listener = listener
  }

  /**
   * Takes what comes for subjects; makes topics that are missing.
   * @throws {ListenError} the brokers do not allow it
   */
  async take(subjects: readonly Subject[], groupOf: (queue: string) => string): Promise<void> {
    if (subjects.length === 0) return
    await this.#cluster.ensure([...new Set(subjects.map(({ address }) => address))].map((name) => ({ name })))
    for (const [queue, of] of grouped(subjects, ({ queue }) => queue)) {
      const group = queue === undefined ? undefined : new Group(this.#cluster, groupOf(queue))
      const taker = new Taker(this.#cluster, group, of, `take ${queue ?? ''}`, this.#listener)
      this.#takers.push(taker)
      await taker.start()
    }
  }

  /** Takes nothing new. Resolves when what had come has been given. */
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

/** Takes for the subjects of one queue. */
class Taker {
  readonly #cluster: Cluster
  readonly #listener: TakersListener
  readonly #subjects = new Map<string, Subject>()
  readonly #reader: Reader
  readonly #member: Member | undefined
  /** Partitions of which all has been taken that was there before us. */
  readonly #caughtUp = new Set<string>()

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
    this.#reader = new Reader(cluster, purpose, {
      receive: (fetched) => this.#receive(fetched),
      gone: (topic, partition) => positionOf(cluster, topic, partition, EARLIEST),
      failed: (error) => listener.failed(error)
    })
    this.#member =
      group &&
      new Member(
        group,
        [...this.#subjects.keys()],
        {
          assigned: (partitions) => {
            for (const { topic, partition, next } of partitions) this.#reader.add(topic, partition, next)
          },
          revoked: (partitions) => this.#revoked(partitions),
          lost: (partitions) => void this.#revoked(partitions),
          failed: (error) => listener.failed(error)
        },
        // The group is there, so this partition is newer.
        (topic, partitions) => positionsOf(cluster, topic, partitions, EARLIEST)
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
    await group.begin([...this.#subjects.keys()], (topic, partitions, isNew) =>
      positionsOf(this.#cluster, topic, partitions, isNew ? LATEST : EARLIEST)
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
      this.#caughtUp.delete(`${topic} ${partition}`)
    }
    await this.#reader.received()
  }

  async #receive(fetched: readonly FetchedPartition[]): Promise<void> {
    const member = this.#member
    if (member !== undefined && !(await this.#taken(member, fetched))) return
    for (const { topic, partition, records, next, end } of fetched) {
      const key = `${topic} ${partition}`
      const isLate = !this.#caughtUp.has(key)
      if (next >= end) this.#caughtUp.add(key)
      const subject = this.#subjects.get(topic)
      if (subject === undefined) continue
      for (const record of records) this.#listener.message(subject, { record, isLate })
    }
  }

  /** @returns false: another member has it by now */
  async #taken(member: Member, fetched: readonly FetchedPartition[]): Promise<boolean> {
    try {
      await member.commit(
        fetched.map(({ topic, partition, next }) => ({ topic, partition, next, metadata: '' }))
      )
      return true
    } catch (error) {
      const isOthers = codesIn(error).some(
        (code) => code === Code.unknownMember || code === Code.fencedMember
      )
      // With the brokers it is lost: what is not known as taken comes again.
      if (!isOthers && this.#cluster.isConnected) this.#listener.failed(error)
      for (const { topic, partition, records } of fetched) {
        const first = records[0]?.offset
        if (!isOthers && first !== undefined) this.#reader.back(topic, partition, BigInt(first))
      }
      return false
    }
  }
}
