/**
 * One member of a consumer group, by the protocol of KIP-848. The coordinator says which partitions belong to this
 * member. A partition goes to another member only after this member has released the partition, so no other member
 * gets the partition while its events still run here.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, ConnectionError, systemClock } from '@elysia-microservices/transport/kit'
import type { Partition, PartitionsOfTopic } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import { soon } from './brokers.ts'
import { Code, codesIn, isForbidden } from './errors.ts'
import { byTopic, type Committed, type Group, type IdentifiedPartition } from './group.ts'

/**
 * Milliseconds between heartbeats at most while the partitions of the group change: the answers to heartbeats tell which
 * ones belong to this member.
 */
export const BEAT = 1_000
/** Heartbeats after a change, after which no further change is expected. */
const SETTLED_AFTER = 10
/**
 * Milliseconds within which a member must release a partition; afterwards the coordinator gives the partition to
 * another member anyway.
 */
const LET_GO_WITHIN = 300_000
/** Milliseconds until a heartbeat that has failed is repeated. */
const AGAIN_AFTER = 250
/** Times that a commit is repeated when the coordinator has raised the member's epoch in between. */
const MOST_COMMITS = 20

/** Is called when partitions are assigned to a member, or taken from it. */
export interface MemberListener {
  /** Partitions are assigned to this member, from these positions on. */
  assigned(partitions: readonly Committed[]): void
  /** Partitions are to go to other members. They are released when the promise resolves. */
  revoked(partitions: readonly Partition[]): Promise<void>
  /** Partitions belong to other members already. */
  lost(partitions: readonly Partition[]): void
  /**
   * The topic of partitions was deleted and created again. `assigned` names the partitions of the new topic as soon as
   * the coordinator gives them to this member.
   */
  deleted(partitions: readonly Partition[]): void
  /** The coordinator does not answer, or answers with an error. */
  failed(error: unknown): void
}

type Target = readonly PartitionsOfTopic[]

export interface MemberOptions {
  readonly clock?: Clock
  /**
   * Milliseconds between heartbeats at most, also when the group has not changed for a while. Default: as many as the
   * broker wants
   */
  readonly longest?: number
}

/** A member of a group. */
export class Member {
  readonly id = randomUUID()
  readonly group: Group
  readonly #topics: readonly string[]
  readonly #listener: MemberListener
  /** Returns the first position in partitions in which the group has committed none. */
  readonly #begin: (topic: string, partitions: readonly number[]) => Promise<ReadonlyMap<number, bigint>>
  #epoch = 0
  /** The partitions that this member has not released: the coordinator gives none of them to other members. */
  #owned = new Map<string, IdentifiedPartition>()
  /** The partitions that are being released. */
  readonly #leaving = new Set<string>()
  /** The partitions that the coordinator has assigned to this member in its last answer. */
  #target: Target | undefined
  readonly #clock: Clock
  readonly #longest: number
  /** Cancels the next heartbeat. */
  #cancel: (() => void) | undefined
  #beating: Promise<void> | undefined
  #isAgainWanted = false
  #isOver = false
  #wanting: (() => void)[] = []

  constructor(
    group: Group,
    topics: readonly string[],
    listener: MemberListener,
    begin: (topic: string, partitions: readonly number[]) => Promise<ReadonlyMap<number, bigint>>,
    { clock = systemClock, longest = Number.POSITIVE_INFINITY }: MemberOptions = {}
  ) {
    this.#clock = clock
    this.#longest = longest
    this.group = group
    this.#topics = topics
    this.#listener = listener
    this.#begin = begin
  }

  /**
   * Joins the group.
   * @throws {ListenError} the brokers do not let this user join the group
   */
  async join(): Promise<void> {
    try {
      await this.#beat()
    } catch (error) {
      const isMember = this.#epoch > 0
      if (error instanceof ConnectionError && !isMember) throw error
      if (!isMember || isForbidden(error)) throw this.group.refusal(error)
      // The coordinator has accepted this member, but did not tell the positions of its partitions.
      this.#failed(error)
    }
    this.#next(this.#interval)
  }

  /**
   * Commits positions.
   * @throws the member has lost one of the partitions since the call, even if it owns the partition again. Brokers
   * only check that the sender is a member: after the member has joined again, they would accept positions in a
   * partition that now belongs to another member
   */
  async commit(positions: readonly Committed[]): Promise<void> {
    const owned = positions.map((position) => this.#owned.get(keyOf(position)))
    const isOurs = (position: Committed, at: number) =>
      owned[at] !== undefined && owned[at] === this.#owned.get(keyOf(position))
    const epoch = () => {
      if (!positions.every(isOurs)) throw notOurs()
      return this.#epoch
    }
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.group.commit(positions, this.id, epoch)
      } catch (error) {
        // The epoch that a commit must name comes with the answer to the next heartbeat, which may be a second away:
        // the heartbeat is sent now.
        if (attempt > MOST_COMMITS || !codesIn(error).includes(Code.staleMember)) throw error
        this.beat()
        await soon(SHORTLY)
      }
    }
  }

  /**
   * Gives up a partition whose topic was deleted and created again. The coordinator assigns the partition of the new
   * topic, to this member or to another one.
   */
  giveUp({ topic, partition }: Partition): void {
    for (const [key, one] of this.#owned)
      if (one.topic === topic && one.partition === partition && !this.#leaving.has(key))
        this.#owned.delete(key)
    this.beat()
  }

  /** Sends a heartbeat at once, to hear what has changed. @param known is called after the answer */
  beat(known?: () => void): void {
    if (known !== undefined) this.#wanting.push(known)
    this.#next(0)
  }

  /** Leaves the group: the coordinator gives this member's partitions to others at once. */
  async leave(): Promise<void> {
    this.#isOver = true
    this.#cancel?.()
    await this.#beating?.catch(() => {})
    this.#owned.clear()
    if (this.#epoch > 0 && this.group.cluster.isConnected) await this.#say(-1).catch(() => {})
    this.#epoch = 0
  }

  #next(delay: number): void {
    this.#cancel?.()
    if (this.#isOver || this.group.cluster.isClosed) return
    if (this.#beating !== undefined && delay === 0) {
      this.#isAgainWanted = true
      return
    }
    this.#cancel = this.#clock.after(delay, () => {
      this.#beating = this.#beat()
        .catch((error) => this.#failed(error))
        .then(() => {
          this.#beating = undefined
          const delay = this.#isAgainWanted ? 0 : this.#interval
          this.#isAgainWanted = false
          this.#next(delay)
        })
    })
  }

  #interval = BEAT
  /** Heartbeats since the partitions of this member, or the epoch of the group, have last changed. */
  #unchanged = 0

  #failed(error: unknown): void {
    this.#interval = AGAIN_AFTER
    if (this.#isOver || !this.group.cluster.isConnected) return
    const codes = codesIn(error)
    if (codes.includes(Code.fencedMember) || codes.includes(Code.unknownMember)) {
      // The coordinator has removed this member: it had received no heartbeat for too long, or the group was deleted.
      this.#epoch = 0
      const lost = [...this.#owned.values()]
      this.#owned = new Map()
      this.#leaving.clear()
      this.#target = undefined
      this.#isAgainWanted = true
      this.#listener.lost(lost)
    } else this.#listener.failed(error)
  }

  #say(epoch: number) {
    const owned = [...grouped(this.#owned.values(), ({ topicId }) => topicId)].map(([topicId, of]) => ({
      topicId,
      partitions: of.map(({ partition }) => partition)
    }))
    const { name: group, cluster } = this.group
    const heartbeat = {
      group,
      memberId: this.id,
      memberEpoch: epoch,
      releasedWithin: LET_GO_WITHIN,
      topics: this.#topics,
      owned
    }
    return this.group.ask((node) => cluster.ask(node, 'groups', (broker) => broker.heartbeat(heartbeat)))
  }

  async #beat(): Promise<void> {
    const { memberEpoch, heartbeatIntervalMs, assignment } = await this.#say(this.#epoch)
    if (this.#isOver) return
    // The assignment is in each answer, also without a change.
    this.#unchanged = memberEpoch !== this.#epoch || this.#leaving.size > 0 ? 0 : this.#unchanged + 1
    this.#epoch = memberEpoch
    if (assignment !== null) this.#target = assignment.topicPartitions
    if (this.#target !== undefined) await this.#reconcile(this.#target)
    this.#interval = Math.min(heartbeatIntervalMs, this.#unchanged < SETTLED_AFTER ? BEAT : this.#longest)
    for (const known of this.#wanting.splice(0)) known()
  }

  async #reconcile(target: Target): Promise<void> {
    const { cluster } = this.group
    if (target.some(({ topicId }) => cluster.topicById(topicId) === undefined))
      await cluster.refresh(this.#topics)
    const wanted = new Map<string, IdentifiedPartition>()
    for (const { topicId, partitions } of target) {
      const topic = cluster.topicById(topicId)?.name
      if (topic === undefined) continue
      for (const partition of partitions)
        wanted.set(keyOf({ topicId, partition }), { topic, topicId, partition })
    }
    const revoked = [...this.#owned].filter(([key]) => !wanted.has(key) && !this.#leaving.has(key))
    if (revoked.length > 0) await this.#letGo(new Map(revoked))
    const added = [...wanted].filter(([key]) => !this.#owned.has(key)).map(([, partition]) => partition)
    if (added.length + revoked.length > 0) this.#unchanged = 0
    if (added.length === 0) return
    const assigned = await this.#positions(added)
    if (this.#isOver) return
    for (const partition of added) this.#owned.set(keyOf(partition), partition)
    this.#listener.assigned(assigned)
    // The next heartbeat tells the coordinator that this member owns the partitions now.
    this.#isAgainWanted = true
  }

  async #letGo(revoked: Map<string, IdentifiedPartition>): Promise<void> {
    const { cluster } = this.group
    // Commits name a topic by its name: with a topic that was created again, they would count for the new topic.
    await cluster.refresh([...new Set([...revoked.values()].map(({ topic }) => topic))])
    if (this.#isOver) return
    const deleted: Partition[] = []
    for (const [key, partition] of revoked) {
      const { topic, topicId } = partition
      if ((cluster.topic(topic)?.id ?? topicId) === topicId) continue
      // Nobody can read the old topic any more, so nobody waits for its running events.
      deleted.push(partition)
      revoked.delete(key)
      this.#owned.delete(key)
    }
    if (deleted.length > 0) {
      this.#listener.deleted(deleted)
      this.#isAgainWanted = true
    }
    if (revoked.size === 0) return
    for (const key of revoked.keys()) this.#leaving.add(key)
    const owned = this.#owned
    void this.#listener.revoked([...revoked.values()]).then(() => {
      for (const key of revoked.keys()) {
        this.#leaving.delete(key)
        owned.delete(key)
      }
      this.beat()
    })
  }

  async #positions(partitions: readonly IdentifiedPartition[]): Promise<readonly Committed[]> {
    const topicIds = new Map(partitions.map(({ topic, topicId }) => [topic, topicId]))
    const committed = await this.group.committed(partitions, this.id, this.#epoch)
    const known = committed.filter(({ topic, topicId }) => topicId === topicIds.get(topic))
    const has = new Set(known.map(keyOf))
    const unknown = byTopic(partitions.filter((partition) => !has.has(keyOf(partition))))
    const begun: Committed[] = []
    for (const [topic, of] of unknown)
      for (const [partition, next] of await this.#begin(topic, of))
        begun.push({ topic, topicId: topicIds.get(topic) ?? '', partition, next, metadata: '' })
    return [...known, ...begun]
  }
}

/** Milliseconds within which an answer to a heartbeat tells the member its new epoch. */
const SHORTLY = 50

function keyOf({ topicId, partition }: Omit<IdentifiedPartition, 'topic'>): string {
  return `${topicId} ${partition}`
}

/** The error that a coordinator would answer with if the member had not joined again. */
function notOurs(): Error {
  return Object.assign(new Error('The partition has gone to another member'), { apiCode: Code.fencedMember })
}
