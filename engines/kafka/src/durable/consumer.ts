/**
 * One durable handler of a service in one process: its membership of the group, the partitions that come and go, and its
 * figures.
 */
import { type Consumer, type ConsumerInit, figuresOf } from '@elysia-microservices/engine'
import {
  type Clock,
  type DurableFigures,
  endedWithin,
  quietLog,
  shown
} from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { isForbidden } from '../connection/errors.ts'
import { type Committed, Group } from '../connection/group.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { Member } from '../connection/member.ts'
import type { Partition } from '../driver.ts'
import { groupAt, retriesOf } from '../words/names.ts'
import { GroupPositions } from './group-positions.ts'
import { Handling } from './handling.ts'
import { Looking } from './looking.ts'
import type { NotedPositions } from './noted.ts'
import { Partitions } from './partition.ts'
import { Reception } from './reception.ts'
import { checkStart } from './start.ts'

/** Milliseconds within which the positions are noted when the handler stops. */
const NOTED_WITHIN = 2_000
/** Attempts to commit the last done events when the handler stops. */
const COMMITS_AT_THE_END = 20

export interface ConsumerOptions extends ConsumerInit {
  /** Whether the group is paused, by the last record about it. */
  readonly isPaused: () => boolean
  readonly noted: NotedPositions
  readonly clock: Clock
}

/** Receives the events of one group for one pattern. */
export class KafkaConsumer implements Consumer<KafkaConnection> {
  readonly group: string
  /** The name of the group in Kafka. */
  readonly name: string
  readonly #options: ConsumerOptions
  readonly #handling: Handling
  readonly #partitions: Partitions
  readonly #looking: Looking
  #connection: KafkaConnection | undefined
  #member: Member | undefined
  #positions: GroupPositions | undefined
  #reception: Reception | undefined
  /** Why Kafka does not let this process be a member of the group. */
  #refusal: unknown
  #hasBegun = false
  #isStopped = false

  /** @throws {OptionError} the option `start` names an invalid position */
  constructor(options: ConsumerOptions) {
    const { route, pattern, group, clock } = options
    this.#options = options
    this.group = group
    this.name = groupAt(group, pattern)
    checkStart(pattern, route.durable.start)
    const partitions = new Partitions({
      pattern,
      clock,
      canCommit: () => this.#member !== undefined && this.#connection?.isConnected === true,
      commit: async (positions) => this.#member?.commit(positions),
      failed: (error) => {
        if (this.#connection?.isConnected === true) this.#failed(error)
      }
    })
    this.#partitions = partitions
    this.#handling = new Handling({
      ...options,
      // Events that are read before wait here, as those of a paused group do.
      isPaused: () => !this.#hasBegun || options.isPaused(),
      partitions,
      cluster: () => this.#cluster
    })
    this.#looking = new Looking(partitions, () => this.#connection?.cluster, clock)
  }

  get #cluster(): Cluster {
    return (this.#connection as KafkaConnection).cluster
  }

  // ── what is seen of it ───────────────────────────────────────────────────────────────────────────────

  get running(): number {
    return this.#handling.running
  }

  get figures(): DurableFigures {
    this.#looking.read()
    return figuresOf(this.#options, this.#handling.figures, {
      lag: this.#partitions.lag,
      redeliveries: this.#handling.redeliveries,
      isPaused: this.#options.isPaused(),
      unavailable: this.#unavailable
    })
  }

  /** Why no events can be received, if only a user can change that. */
  get #unavailable(): string | undefined {
    if (this.#refusal !== undefined)
      return `${this.#what} is not received: Kafka does not let this user read the topic or join the group`
    switch (this.#reception?.forbidden) {
      case 'fresh':
        return `${this.#what} is not received: Kafka does not let this user read the topic`
      case 'again':
        return `${this.#what} is not retried: Kafka does not let this user read the topics of retries`
      default:
        return undefined
    }
  }

  get #what(): string {
    const { pattern, group } = this.#options
    return `The durable event '${shown(pattern)}' of the group '${group}'`
  }

  /** Kafka has refused something to this process as a member of its group. */
  #failed(error: unknown): void {
    if (isForbidden(error)) this.#refusal = error
    this.#log(error)
  }

  #log(error: unknown): void {
    const { pattern, logger } = this.#options
    quietLog(logger).error(`durable ${pattern}`, `${this.#what} cannot be received at the moment`, error)
  }

  // ── the group ────────────────────────────────────────────────────────────────────────────────────────

  async start(connection: KafkaConnection): Promise<void> {
    if (this.#member !== undefined) return
    const { pattern, group, route } = this.#options
    const { cluster } = connection
    this.#connection = connection
    await cluster.ensure([{ name: pattern }])
    const kafkaGroup = new Group(cluster, this.name)
    const positions = new GroupPositions(kafkaGroup, { ...this.#options, start: route.durable.start })
    this.#positions = positions
    await positions.begin()
    const reception = new Reception({
      group: kafkaGroup,
      groupName: group,
      pattern,
      partitions: this.#partitions,
      handling: this.#handling,
      failed: (error) => this.#log(error),
      recreated: (partition) => {
        // Only the coordinator knows which process of the group reads this partition of the new topic.
        this.#deleted([partition])
        this.#member?.giveUp(partition)
      },
      lost: (partition, at, end, next) => this.#sayLost(partition, at, end, next)
    })
    this.#reception = reception
    const member = this.#newMember(kafkaGroup, positions)
    this.#member = member
    try {
      await member.join()
    } catch (error) {
      // `start` is called again, and then makes another member.
      this.#member = undefined
      await Promise.all([member.leave(), reception.stop()])
      throw error
    }
    await positions.noteFromNowOn()
  }

  begin(): void {
    this.#hasBegun = true
    this.#handling.paused()
  }

  #newMember(group: Group, positions: GroupPositions): Member {
    const { pattern } = this.#options
    return new Member(
      group,
      [pattern, ...retriesOf(pattern)],
      {
        assigned: (partitions) => this.#assigned(partitions),
        revoked: (partitions) => this.#revoked(partitions),
        lost: (partitions) => {
          this.#forget(partitions)
          this.#options.logger.warn(
            `Kafka has removed this process from the group '${this.group}' for '${shown(pattern)}': events that run here also run in another process`
          )
        },
        deleted: (partitions) => this.#deleted(partitions),
        failed: (error) => this.#failed(error)
      },
      (topic, partitions) => positions.beginnings(topic, partitions),
      { clock: this.#options.clock }
    )
  }

  #assigned(partitions: readonly Committed[]): void {
    this.#refusal = undefined
    for (const committed of partitions) {
      this.#partitions.add(committed)
      if (!this.#isStopped) this.#reception?.add(committed)
    }
    this.#handling.open()
  }

  /**
   * Partitions go to other processes: their waiting events are dropped here, and their running handlers are waited
   * for.
   */
  async #revoked(partitions: readonly Partition[]): Promise<void> {
    const sources = this.#partitions.of(partitions)
    this.#reception?.remove(partitions)
    await this.#handling.release(sources)
    await this.#partitions.commitAll(sources)
    this.#partitions.remove(sources)
  }

  /** Removes partitions that belong to other processes already. */
  #forget(partitions: readonly Partition[]): void {
    const sources = this.#partitions.of(partitions)
    this.#partitions.remove(sources)
    this.#reception?.remove(partitions)
    this.#handling.drop(sources)
  }

  /** The topic of partitions was deleted and created again. */
  #deleted(partitions: readonly Partition[]): void {
    if (this.#partitions.of(partitions).size === 0) return
    this.#forget(partitions)
    const { pattern, group, logger } = this.#options
    logger.error(
      `The topic '${shown(pattern)}', or one of its topics of retries, was deleted and created again; the group '${group}' goes on with the first event of the new topic`
    )
  }

  #sayLost({ topic, partition }: Partition, at: bigint, end: bigint, next: bigint): void {
    const { pattern, group, logger } = this.#options
    logger.error(
      at > end
        ? `Kafka has lost the end of '${shown(topic)}': the group '${group}' stands at position ${at} of partition ${partition} for '${shown(pattern)}', and the partition ends at ${end}; the group goes on at position ${next}, and handles again what is left`
        : `Events of '${shown(topic)}' that the group '${group}' had not handled were deleted by Kafka, because it keeps them no longer; the group goes on at position ${next} of partition ${partition}`
    )
  }

  // ── its life ─────────────────────────────────────────────────────────────────────────────────────────

  /** Applies that the group was paused or resumed. @returns the id of this process's member of the group, or none */
  paused(): string[] {
    this.#handling.paused()
    return this.#member === undefined ? [] : [this.#member.id]
  }

  /** Begins no event, because the brokers are lost: when they are back, other processes may own the partitions. */
  lost(): void {
    this.#handling.close()
  }

  restored(): void {
    this.#reception?.restored()
    this.#member?.beat(() => this.#handling.open())
    this.#partitions.commitSoon()
  }

  async leave(): Promise<void> {
    await this.stop()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#looking.stop()
    const { ended } = this.#handling.stop()
    await this.#reception?.stop()
    await ended
    await this.#partitions.commitAll(new Set(this.#partitions), COMMITS_AT_THE_END)
    this.#partitions.stop()
    this.#positions?.stop()
    // A broker that stands still must not hold up the end.
    await endedWithin(Promise.resolve(this.#positions?.note()), NOTED_WITHIN)
    await this.#member?.leave()
  }

  cut(): void {
    this.#isStopped = true
    this.#handling.cut()
    this.#looking.stop()
    this.#partitions.stop()
    this.#positions?.stop()
    void this.#member?.leave()
  }
}
