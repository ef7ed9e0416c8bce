/** A consumer group of the fake cluster, by the protocol of KIP-848: members, their partitions, committed positions. */
import { Code } from '../connection/errors.ts'
import type { GroupOffset, Heartbeat, HeartbeatAnswer, Partition } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import { refusal } from './refusal.ts'

/** Times of a cluster's groups, in milliseconds. */
export interface GroupTimes {
  readonly heartbeatInterval: number
  /** Without a heartbeat for so long, a member is removed. */
  readonly sessionTimeout: number
  /** The positions of a group are deleted when it has had no members for so long. */
  readonly offsetsRetention: number
}

interface FakeMember {
  epoch: number
  topics: readonly string[]
  heardAt: number
  /** The partitions that no other member gets: given to this member, and not released by it. */
  readonly held: Set<string>
  /** The partitions that it is to have. */
  target: ReadonlySet<string>
}

/** The ids and numbers of partitions of the topics that exist. */
type Topics = (name: string) => { readonly id: string; readonly partitions: number } | undefined

export class FakeGroup {
  readonly offsets = new Map<string, GroupOffset>()
  readonly #times: GroupTimes
  readonly #topics: Topics
  readonly #members = new Map<string, FakeMember>()
  #epoch = 0
  /** The members and topics from which the present targets were made. */
  #basis = ''
  #emptySince: number

  constructor(times: GroupTimes, topics: Topics, now: number) {
    this.#times = times
    this.#topics = topics
    this.#emptySince = now
  }

  get members(): string[] {
    return [...this.#members.keys()]
  }

  /** Removes members that are silent. @returns false: the group, and its positions, are gone */
  expire(now: number): boolean {
    for (const [id, { heardAt }] of this.#members)
      if (heardAt + this.#times.sessionTimeout <= now) this.#remove(id, now)
    return this.#members.size > 0 || this.#emptySince + this.#times.offsetsRetention > now
  }

  #remove(id: string, now: number): void {
    this.#members.delete(id)
    // A member of the same id that joins again is a new one, which has no partitions.
    this.#basis = ''
    if (this.#members.size === 0) this.#emptySince = now
  }

  heartbeat({ memberId, memberEpoch, topics, owned }: Heartbeat, now: number): HeartbeatAnswer {
    if (memberEpoch < 0) {
      this.#remove(memberId, now)
      return { memberEpoch, heartbeatIntervalMs: this.#times.heartbeatInterval, assignment: null }
    }
    let member = this.#members.get(memberId)
    if (memberEpoch === 0) {
      member ??= { epoch: 0, topics, heardAt: now, held: new Set(), target: new Set() }
      member.held.clear()
      this.#members.set(memberId, member)
    }
    if (member === undefined) throw refusal(Code.unknownMember)
    if (memberEpoch !== member.epoch && memberEpoch !== 0) throw refusal(Code.fencedMember)
    member.heardAt = now
    member.topics = topics
    this.#assign()
    const has = new Set(
      owned.flatMap(({ topicId, partitions }) => partitions.map((one) => `${topicId} ${one}`))
    )
    const { held, target } = member
    for (const key of held) if (!target.has(key) && !has.has(key)) held.delete(key)
    if ([...held].every((key) => target.has(key))) {
      member.epoch = this.#epoch
      const others = new Set(
        [...this.#members.values()].flatMap((one) => (one === member ? [] : [...one.held]))
      )
      for (const key of target) if (!others.has(key)) held.add(key)
    }
    const topicPartitions = [...grouped(held, (key) => key.split(' ')[0] ?? '')].map(([topicId, keys]) => ({
      topicId,
      partitions: keys.filter((key) => target.has(key)).map((key) => Number(key.split(' ')[1]))
    }))
    const assignment = { topicPartitions: topicPartitions.filter(({ partitions }) => partitions.length > 0) }
    return { memberEpoch: member.epoch, heartbeatIntervalMs: this.#times.heartbeatInterval, assignment }
  }

  /** Shares the partitions again if the members, or the topics, have changed: each stays where it is, if it can. */
  #assign(): void {
    const members = [...this.#members.values()]
    const names = new Set(members.flatMap(({ topics }) => topics))
    let basis = ''
    for (const [id, { topics }] of this.#members) basis += `${id} ${topics},`
    for (const name of names) basis += `${this.#topics(name)?.id} ${this.#topics(name)?.partitions},`
    if (basis === this.#basis) return
    this.#basis = basis
    this.#epoch++
    /** The topic of each partition. */
    const keys = new Map<string, string>()
    for (const name of names) {
      const { id, partitions = 0 } = this.#topics(name) ?? {}
      for (let at = 0; at < partitions; at++) keys.set(`${id} ${at}`, name)
    }
    const most = Math.ceil(keys.size / members.length)
    const targets = members.map((member) => {
      const isIts = (key: string) => member.topics.includes(keys.get(key) ?? '')
      const kept = [...member.target].filter(isIts).slice(0, most)
      return { member, target: new Set(kept) }
    })
    const given = new Set(targets.flatMap(({ target }) => [...target]))
    for (const [key, topic] of keys) {
      if (given.has(key)) continue
      const takers = targets.filter(({ member }) => member.topics.includes(topic))
      takers.sort((one, other) => one.target.size - other.target.size)[0]?.target.add(key)
    }
    for (const { member, target } of targets) member.target = target
  }

  /** @throws the sender is no member, or its epoch is out of date */
  #check(memberId: string | null, memberEpoch: number): void {
    if (memberId === null || memberId === '') return
    const member = this.#members.get(memberId)
    if (member === undefined) throw refusal(Code.unknownMember)
    if (member.epoch !== memberEpoch) throw refusal(Code.staleMember)
  }

  commit(memberId: string, memberEpoch: number, positions: readonly GroupOffset[]): void {
    if (memberId === '' && this.#members.size > 0) throw refusal(Code.unknownMember)
    this.#check(memberId, memberEpoch)
    const isThere = ({ topic, partition }: Partition) => partition < (this.#topics(topic)?.partitions ?? 0)
    for (const one of positions) if (isThere(one)) this.offsets.set(`${one.topic} ${one.partition}`, one)
    if (!positions.every(isThere)) throw refusal(Code.unknownTopic)
  }

  committed(memberId: string | null, memberEpoch: number, partitions: readonly Partition[]): GroupOffset[] {
    this.#check(memberId, memberEpoch)
    return partitions.flatMap(({ topic, partition }) => this.offsets.get(`${topic} ${partition}`) ?? [])
  }

  /** The topic was deleted. */
  forgetTopic(topic: string): void {
    for (const [key, one] of this.offsets) if (one.topic === topic) this.offsets.delete(key)
  }
}
