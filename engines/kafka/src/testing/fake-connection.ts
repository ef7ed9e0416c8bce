/** A connection to a broker of the fake cluster. */
import { Code } from '../connection/errors.ts'
import type {
  Batch,
  Broker,
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
import { grouped } from '../words/grouped.ts'
import type { FakeCluster, FakeTopic, Request } from './fake-cluster.ts'
import type { FakeLog } from './fake-log.ts'
import { refusal } from './refusal.ts'

/** Bytes of the answer to a fetch request, for all partitions. */
const MOST_TOGETHER = 4 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

/** Where a connection leads, and whether its user has no rights. */
interface Place {
  readonly broker: Broker
  readonly node: number
  readonly isStranger: boolean
}

export class FakeConnection implements DriverConnection {
  readonly broker: Broker
  readonly node: number
  readonly #cluster: FakeCluster
  readonly #isStranger: boolean
  readonly #closed: () => void
  /** The request that is being done: the others wait. */
  #last: Promise<unknown> = Promise.resolve()
  /** Rejects what waits for an answer. */
  readonly #unanswered = new Set<(error: Error) => void>()
  /** Lets a fetch request look again whether there are records. */
  #look = () => {}
  #isOpen = true
  /** How many requests are under way, without those that wait for records. */
  #busy = 0

  constructor(cluster: FakeCluster, { broker, node, isStranger }: Place, closed: () => void) {
    this.#cluster = cluster
    this.broker = broker
    this.node = node
    this.#isStranger = isStranger
    this.#closed = closed
  }

  // ── its life ─────────────────────────────────────────────────────────────────────────────────────────

  /** The connection is lost. */
  drop(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const reject of this.#unanswered) reject(new Error('The connection has ended'))
    this.#unanswered.clear()
    this.#look()
    this.#closed()
  }

  async close(): Promise<void> {
    await new Promise(setImmediate)
    this.drop()
  }

  destroy(): void {
    this.drop()
  }

  look(): void {
    this.#look()
  }

  get isIdle(): boolean {
    return this.#unanswered.size === 0
  }

  get isBusy(): boolean {
    return this.#busy > 0
  }

  /** Does a request when all before are done. What is done for a connection that is lost has happened all the same. */
  #ask<Answer>(request: Request, act: () => Answer | Promise<Answer>): Promise<Answer> {
    const cluster = this.#cluster
    cluster.asked.set(request, (cluster.asked.get(request) ?? 0) + 1)
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new Error('The connection has ended'))
      this.#unanswered.add(reject)
      this.#busy++
      const done = this.#last.then(async () => {
        await cluster.turn(this.broker.port)
        const delay = cluster.delays(request)
        if (delay > 0) await new Promise<void>((wake) => cluster.clock.after(delay, wake))
        if (!this.#isOpen) return
        const code = cluster.refuses(request, '')
        if (code !== undefined) throw refusal(code)
        const answer = await act()
        if (cluster.losesAnswerTo(request)) return this.drop()
        await cluster.turn(this.broker.port)
        resolve(answer)
      })
      this.#last = done.catch(reject).finally(() => {
        this.#busy--
        this.#unanswered.delete(reject)
      })
    })
  }

  /** The error code with which a request for a topic or group is refused. */
  #refused(request: Request, about: string, forbidden: number = Code.topicAuthorization): number | undefined {
    return this.#isStranger ? forbidden : this.#cluster.refuses(request, about)
  }

  // ── topics ───────────────────────────────────────────────────────────────────────────────────────────

  metadata(names: readonly string[] | null): Promise<Metadata> {
    return this.#ask('metadata', () => {
      const { topics: all, brokers } = this.#cluster
      const running = new Set(brokers.map(({ nodeId }) => nodeId))
      const topics = (names ?? [...all.keys()]).map((name) => {
        const topic = all.get(name)
        const errorCode = this.#refused('metadata', name) ?? (topic === undefined ? Code.unknownTopic : 0)
        const leaders = errorCode === 0 ? (topic?.leaders ?? []) : []
        const partitions = leaders.map((leader, partitionIndex) => ({
          partitionIndex,
          leaderId: running.has(leader) ? leader : -1
        }))
        return { name, topicId: topic?.id ?? '', errorCode, partitions }
      })
      return answered({ brokers, topics }, topics)
    })
  }

  createTopics(topics: readonly NewTopic[]): Promise<readonly MadeTopic[]> {
    return this.#ask('createTopics', () =>
      topics.map((topic) => {
        const errorCode = this.#refused('createTopics', topic.name) ?? this.#cluster.create(topic)
        return {
          name: topic.name,
          errorCode,
          errorMessage: errorCode === 0 ? null : `refused with ${errorCode}`
        }
      })
    )
  }

  deleteTopics(names: readonly string[]): Promise<unknown> {
    return this.#ask('deleteTopics', () => {
      for (const name of names) this.#cluster.delete(name)
    })
  }

  // ── records ──────────────────────────────────────────────────────────────────────────────────────────

  /** A partition that this broker leads, or the error code. */
  #led(topic: FakeTopic | undefined, partition: number): FakeLog | number {
    const log = topic?.logs[partition]
    if (topic === undefined || log === undefined) return Code.unknownTopic
    return topic.leaders[partition] === this.node ? log : Code.notLeader
  }

  produce(_acks: number, _within: number, batches: readonly Batch[]): Promise<Produced> {
    return this.#ask('produce', () => {
      const stored = batches.map((batch) => {
        const { topic, partition: index } = batch
        const log = this.#led(this.#cluster.topics.get(topic), index)
        const code = this.#refused('produce', topic) ?? (typeof log === 'number' ? log : 0)
        const answer =
          code !== 0 || typeof log === 'number' ? { errorCode: code, baseOffset: -1n } : log.append(batch)
        return { topic, index, ...answer }
      })
      const byTopic = grouped(stored, ({ topic }) => topic)
      const responses = [...byTopic].map(([name, partitionResponses]) => ({ name, partitionResponses }))
      return answered({ responses }, stored)
    })
  }

  fetch(wanted: readonly Wanted[], isolation: Isolation, patience: number): Promise<readonly FetchedBytes[]> {
    return this.#ask('fetch', async () => {
      let isLate = patience <= 0
      const logs = wanted.flatMap(({ topicId, partitions }) => {
        const topic = this.#topicBy(topicId)
        return partitions.flatMap(({ partition }) => topic?.logs[partition] ?? [])
      })
      for (;;) {
        const fetched = this.#read(wanted, isolation)
        const isThere = fetched.some(({ errorCode, bytes }) => errorCode !== 0 || bytes.length > 0)
        if (isThere || isLate || !this.#isOpen) return answered(fetched, fetched)
        this.#busy--
        await new Promise<void>((look) => {
          const stop = this.#cluster.clock.after(patience, () => {
            isLate = true
            wake()
          })
          const wake = () => {
            stop()
            for (const { waiting } of logs) waiting.delete(wake)
            look()
          }
          this.#look = wake
          for (const { waiting } of logs) waiting.add(wake)
        })
        this.#busy++
        if (this.#isOpen) await this.#cluster.turn(this.broker.port)
      }
    })
  }

  #topicBy(id: string): FakeTopic | undefined {
    for (const topic of this.#cluster.topics.values()) if (topic.id === id) return topic
    return undefined
  }

  #read(wanted: readonly Wanted[], isolation: Isolation): FetchedBytes[] {
    let size = 0
    return wanted.flatMap(({ topicId, partitions }) => {
      const topic = this.#topicBy(topicId)
      return partitions.map(({ partition, next }) => {
        const head = { topicId, partition, end: -1n, aborted: [], bytes: NOTHING }
        if (topic === undefined) return { ...head, errorCode: Code.unknownTopicId }
        const log = this.#led(this.#cluster.topic(topic.name), partition)
        if (typeof log === 'number') return { ...head, errorCode: log }
        const code = this.#refused('fetch', topic.name)
        if (code !== undefined) return { ...head, errorCode: code }
        const read = log.read(next, isolation)
        const bytes = size < MOST_TOGETHER ? read.bytes : NOTHING
        size += bytes.length
        return { topicId, partition, end: log.end, ...read, bytes }
      })
    })
  }

  listOffsets(
    name: string,
    partitions: readonly number[],
    timestamp: bigint,
    isolation: Isolation
  ): Promise<Map<number, bigint>> {
    return this.#ask('listOffsets', () => {
      const topic = this.#cluster.topics.has(name) ? this.#cluster.topic(name) : undefined
      const found = partitions.map((partition) => {
        const log = this.#led(topic, partition)
        const errorCode = this.#refused('listOffsets', name) ?? (typeof log === 'number' ? log : 0)
        const offset = typeof log === 'number' ? -1n : log.offsetAt(timestamp, isolation)
        return { partition, errorCode, offset }
      })
      answered(found, found)
      return new Map(found.map(({ partition, offset }) => [partition, offset]))
    })
  }

  newProducerId(): Promise<ProducerId> {
    return this.#ask('newProducerId', () => ({ producerId: this.#cluster.newProducer(), producerEpoch: 0 }))
  }

  // ── groups ───────────────────────────────────────────────────────────────────────────────────────────

  coordinator(group: string): Promise<number> {
    return this.#ask('coordinator', () => {
      this.#allowed('coordinator', group)
      return this.#cluster.coordinator
    })
  }

  #allowed(request: Request, group: string): void {
    const code = this.#refused(request, group, Code.groupAuthorization)
    if (code !== undefined) throw refusal(code)
    if (request !== 'coordinator' && this.#cluster.coordinator !== this.node)
      throw refusal(Code.notCoordinator)
  }

  heartbeat(heartbeat: Heartbeat): Promise<HeartbeatAnswer> {
    return this.#ask('heartbeat', () => {
      this.#allowed('heartbeat', heartbeat.group)
      return this.#cluster.group(heartbeat.group).heartbeat(heartbeat, this.#cluster.clock.now())
    })
  }

  commit(group: string, memberId: string, epoch: number, positions: readonly GroupOffset[]): Promise<void> {
    return this.#ask('commit', () => {
      this.#allowed('commit', group)
      this.#cluster.group(group).commit(memberId, epoch, positions)
    })
  }

  committed(
    group: string,
    memberId: string | null,
    epoch: number,
    partitions: readonly Partition[]
  ): Promise<readonly GroupOffset[]> {
    return this.#ask('committed', () => {
      this.#allowed('committed', group)
      return this.#cluster.group(group).committed(memberId, epoch, partitions)
    })
  }

  members(group: string): Promise<readonly string[]> {
    return this.#ask('members', () => {
      this.#allowed('members', group)
      return this.#cluster.group(group).members
    })
  }

  groups(): Promise<readonly string[]> {
    return this.#ask('groups', () => this.#cluster.groups())
  }
}

/** Returns an answer, unless one of its parts has an error. */
function answered<Answer>(answer: Answer, parts: readonly { readonly errorCode: number }[]): Answer {
  const codes = parts.flatMap(({ errorCode }) => (errorCode === 0 ? [] : [errorCode]))
  if (codes.length > 0) throw refusal(codes, answer)
  return answer
}
