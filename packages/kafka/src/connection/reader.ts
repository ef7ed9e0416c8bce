/** Fetches the records of partitions from the brokers that lead them, as long as there is room for them. */
import { type fetchV17, listOffsetsV9 } from '@platformatic/kafka'
import { readBatches } from '../words/batch.ts'
import { grouped } from '../words/grouped.ts'
import type { Fetched } from '../words/record.ts'
import { soon } from './brokers.ts'
import type { Cluster } from './cluster.ts'
import { Code, responseOf } from './errors.ts'
import { type FetchedBytes, fetchApi } from './record-apis.ts'

/** Milliseconds for which a broker waits for records that have not come. */
const PATIENCE = 5_000
/** Bytes of one fetch, in all and of a partition. */
const MOST_BYTES = 4 * 1024 * 1024
const MOST_OF_ONE = 1024 * 1024
/** Milliseconds until a broker that cannot be asked is asked again. */
const AGAIN_AFTER = 100

/** Times that stand for positions, as brokers know them. */
export const LATEST = -1n
export const EARLIEST = -2n

/** The records that were fetched of one partition. */
export interface FetchedPartition {
  readonly topic: string
  readonly partition: number
  readonly records: readonly Fetched[]
  /** Where the next record would be. */
  readonly next: bigint
  /** Where the partition ends. */
  readonly end: bigint
}

/** Takes what comes. */
export interface ReaderListener {
  /** Records have come. What it returns is awaited before more are given. */
  receive(partitions: readonly FetchedPartition[]): void | Promise<void>
  /**
   * The record to be read next is not there any more.
   * @returns where to go on
   */
  gone(topic: string, partition: number): Promise<bigint>
  failed(error: unknown): void
}

interface Position {
  readonly topic: string
  readonly partition: number
  /** The topic by the id that brokers gave it: a recreated one has another. */
  id: string | undefined
  next: bigint
}

/** Reads partitions, over connections of its own. */
export class Reader {
  readonly #cluster: Cluster
  readonly #purpose: string
  readonly #listener: ReaderListener
  readonly #positions = new Map<string, Position>()
  /** Brokers that are being asked. */
  readonly #asked = new Set<number>()
  readonly #hearNoMore: () => void
  /** Changes with the partitions that are read. */
  #version = 0
  #receiving: Promise<void> = Promise.resolve()
  #isStopped = false

  /** @param purpose names its connections: no other may have it */
  constructor(cluster: Cluster, purpose: string, listener: ReaderListener) {
    this.#cluster = cluster
    this.#purpose = purpose
    this.#listener = listener
    this.#hearNoMore = cluster.onMoved((moved) => {
      for (const { topic } of this.#positions.values()) if (topic === moved) return this.#changed()
    })
  }

  /** Reads a partition from a position on. */
  add(topic: string, partition: number, next: bigint): void {
    this.#positions.set(`${topic} ${partition}`, {
      topic,
      partition,
      id: this.#cluster.topic(topic)?.id,
      next
    })
    this.#changed()
  }

  /** Reads a partition from its end on. */
  async addLatest(topic: string, partition: number): Promise<void> {
    this.add(topic, partition, await positionOf(this.#cluster, topic, partition, LATEST))
  }

  /** Reads from an earlier position on, if the partition is still read. */
  back(topic: string, partition: number, next: bigint): void {
    const position = this.#positions.get(`${topic} ${partition}`)
    if (position !== undefined) position.next = next
  }

  /** Resolves when what has come so far has been taken. */
  received(): Promise<void> {
    return this.#receiving
  }

  /** Reads a partition no more. */
  remove(topic: string, partition: number): void {
    if (this.#positions.delete(`${topic} ${partition}`)) this.#changed()
  }

  /** Reads nothing any more. Resolves when what had come has been taken. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#hearNoMore()
    this.#positions.clear()
    this.#changed()
    await this.#receiving
  }

  /** There are brokers again. */
  restored(): void {
    this.#changed()
  }

  #changed(): void {
    this.#version++
    for (const node of this.#asked) void this.#cluster.drop(node, this.#purpose).catch(() => {})
    // Several partitions change in one turn.
    queueMicrotask(() => {
      if (this.#isStopped) return
      for (const node of this.#byLeader().keys()) void this.#read(node)
    })
  }

  #byLeader(): Map<number, Position[]> {
    return grouped(
      this.#positions.values(),
      ({ topic, partition }) => this.#cluster.topic(topic)?.leaders[partition] ?? -1
    )
  }

  /** Asks one broker, again and again. */
  async #read(node: number): Promise<void> {
    if (this.#asked.has(node)) return
    this.#asked.add(node)
    while (!this.#isStopped && this.#cluster.isConnected) {
      const positions = this.#byLeader().get(node)
      if (positions === undefined) break
      try {
        if (node === -1) await this.#findLeaders(positions)
        else if (await this.#isNew(positions)) continue
        else await this.#fetch(node, positions)
      } catch (error) {
        if (this.#isStopped || !this.#cluster.isConnected) break
        this.#listener.failed(error)
        await soon(AGAIN_AFTER)
      }
    }
    this.#asked.delete(node)
  }

  /** @throws {ConnectionError} the brokers cannot be asked */
  async #findLeaders(positions: readonly Position[]): Promise<void> {
    await soon(AGAIN_AFTER)
    await this.#cluster.refresh([...new Set(positions.map(({ topic }) => topic))])
  }

  /** Whether a topic was deleted and made again: what was to be read next there is another's number. */
  async #isNew(positions: readonly Position[]): Promise<boolean> {
    let isNew = false
    for (const position of positions) {
      const { topic, partition } = position
      const id = this.#cluster.topic(topic)?.id
      position.id ??= id
      if (position.id === id) continue
      isNew = true
      position.id = id
      position.next = await this.#listener.gone(topic, partition)
    }
    return isNew
  }

  async #fetch(node: number, positions: readonly Position[]): Promise<void> {
    const version = this.#version
    let answer: FetchedBytes[]
    try {
      answer = await responseOf(
        this.#cluster.ask(node, this.#purpose, fetchApi, ...fetchArguments(this.#wanted(positions)))
      )
    } catch (error) {
      if (version === this.#version) throw error
      // It waited for partitions that are not, or not the only ones that are, wanted any more.
      return
    }
    const fetched = await this.#take(answer, positions)
    if (fetched.length === 0) return
    // Answers of brokers are taken one after the other: the listener may have to wait for room.
    const receiving = this.#receiving.then(() => {
      // Others may have partitions by now, and we again, from another position on.
      const read = fetched.filter(({ of }) => this.#isRead(of)).map(({ partition }) => partition)
      return this.#listener.receive(read)
    })
    this.#receiving = receiving.catch((error) => this.#listener.failed(error))
    await this.#receiving
  }

  #wanted(positions: readonly Position[]): Wanted[] {
    return [...grouped(positions, ({ id }) => id)].map(([id = '', of]) => ({
      topicId: id,
      partitions: of.map(({ partition, next }) => wantedFrom(partition, next))
    }))
  }

  #isRead(position: Position): boolean {
    return this.#positions.get(`${position.topic} ${position.partition}`) === position
  }

  async #take(
    answer: readonly FetchedBytes[],
    asked: readonly Position[]
  ): Promise<{ readonly of: Position; readonly partition: FetchedPartition }[]> {
    const fetched: { readonly of: Position; readonly partition: FetchedPartition }[] = []
    const moved = new Set<string>()
    for (const { topicId, partition, errorCode, bytes, end } of answer) {
      const position = asked.find((one) => one.id === topicId && one.partition === partition)
      if (position === undefined || !this.#isRead(position)) continue
      const { topic } = position
      if (errorCode === Code.offsetOutOfRange) position.next = await this.#listener.gone(topic, partition)
      else if (errorCode !== 0) moved.add(topic)
      else if (bytes.length > 0) {
        const { records, next } = readBatches(bytes, Number(position.next))
        position.next = BigInt(next)
        fetched.push({ of: position, partition: { topic, partition, records, next: position.next, end } })
      }
    }
    if (moved.size > 0) {
      await soon(AGAIN_AFTER)
      await this.#cluster.refresh([...moved])
    }
    return fetched
  }
}

type Wanted = Parameters<typeof fetchApi.async>[7][number]

/** The part of a fetch request for one partition. */
export function wantedFrom(partition: number, next: bigint): Wanted['partitions'][number] {
  return {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: next,
    lastFetchedEpoch: -1,
    partitionMaxBytes: MOST_OF_ONE
  }
}

/** The arguments of a fetch request. */
export function fetchArguments(
  wanted: Wanted[],
  patience = PATIENCE
): Parameters<typeof fetchV17.createRequest> {
  return [patience, 1, MOST_BYTES, 0, 0, -1, wanted, [], '']
}

/** A position in one partition; see `positionsOf`. */
export async function positionOf(
  cluster: Cluster,
  topic: string,
  partition: number,
  timestamp: bigint
): Promise<bigint> {
  return (await positionsOf(cluster, topic, [partition], timestamp)).get(partition) ?? 0n
}

/** Positions in the partitions of a topic. @param timestamp of the first record wanted, or what stands for a position */
export async function positionsOf(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  timestamp: bigint
): Promise<Map<number, bigint>> {
  return cluster.persist([topic], async () => {
    const led = await Promise.all(
      partitions.map(async (partition) => ({ partition, leader: await cluster.leaderOf(topic, partition) }))
    )
    const positions = new Map<number, bigint>()
    for (const [leader, of] of grouped(led, (one) => one.leader)) {
      const wanted = of.map(({ partition }) => ({
        partitionIndex: partition,
        currentLeaderEpoch: -1,
        timestamp
      }))
      const { topics } = await cluster.ask(leader, 'main', listOffsetsV9.api, -1, 0, [
        { name: topic, partitions: wanted }
      ])
      for (const { partitions: answered } of topics)
        for (const { partitionIndex, offset } of answered) positions.set(partitionIndex, offset)
    }
    return positions
  })
}
