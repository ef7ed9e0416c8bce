/**
 * Keeps the figures of a durable handler up to date while somebody reads them: otherwise, each handler with nothing to do
 * would cost Kafka requests.
 */
import { type Clock, passedBy } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { positionsOf } from '../connection/positions.ts'
import { Isolation, LATEST } from '../driver.ts'
import { grouped } from '../words/grouped.ts'
import type { Partitions } from './partition.ts'

/** Milliseconds between looks. */
const LOOK = 5_000
/** Milliseconds after a reading for which the figures are kept up to date. */
const READ_FOR = 120_000

/** Asks for the ends of partitions. */
export class Looking {
  readonly #partitions: Partitions
  readonly #cluster: () => Cluster | undefined
  readonly #clock: Clock
  #readAt = 0
  /** Cancels the next look; `undefined`: nobody has read the figures lately. */
  #cancel: (() => void) | undefined
  #isStopped = false

  /** @param cluster the brokers; `undefined`: not yet connected */
  constructor(partitions: Partitions, cluster: () => Cluster | undefined, clock: Clock) {
    this.#partitions = partitions
    this.#cluster = cluster
    this.#clock = clock
  }

  /** Somebody reads the figures. */
  read(): void {
    this.#readAt = passedBy(this.#clock)
    if (this.#cancel === undefined) this.#look()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  #look(): void {
    if (this.#isStopped) return
    this.#cancel = this.#clock.after(LOOK, () => {
      this.#cancel = undefined
      if (passedBy(this.#clock) - this.#readAt < READ_FOR) this.#look()
    })
    this.#ask().catch(() => {})
  }

  /**
   * While nothing is read for lack of room, no answer to a fetch request tells the ends of the partitions. Events behind
   * an open transaction count as waiting.
   */
  async #ask(): Promise<void> {
    const cluster = this.#cluster()
    if (cluster?.isConnected !== true) return
    for (const [topic, of] of grouped(this.#partitions, (source) => source.topic)) {
      const partitions = of.map(({ partition }) => partition)
      const ends = await positionsOf(cluster, topic, partitions, LATEST, Isolation.uncommitted)
      for (const [partition, end] of ends) {
        const source = this.#partitions.get(topic, partition)
        if (source !== undefined) source.limit = Number(end)
      }
    }
  }
}
