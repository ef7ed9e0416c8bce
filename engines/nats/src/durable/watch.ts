/** Asks the server regularly about a group: its lag, its position, and whether it is paused. */
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { GroupInfo } from './early.ts'
import type { Group, Groups, Standpoint, Subscription } from './groups.ts'
import { isMissing, isOff } from './jetstream-errors.ts'

/**
 * Under load the server is asked earlier, after this many events and milliseconds: if the consumer is lost, all
 * events since the last known position run again.
 */
const SOON = { events: 250, milliseconds: 100 }

/** Watches the group of one handler. */
export class GroupWatch {
  readonly #gone: (why: string) => void
  #connection: NatsConnection | undefined
  #groups: Groups | undefined
  /** The consumer of the group; `undefined` before it was created. */
  main: Subscription | undefined
  standpoint: Standpoint | undefined
  /** Events that are stored and not done; `undefined`: not known yet. */
  lag: number | undefined
  isPaused = false
  /** Events done since the server was last asked, and when that was. */
  #sinceLook = 0
  #lookedAt = 0

  /** @param gone is called with the reason if the consumer, its stream, or all streams no longer exist */
  constructor(gone: (why: string) => void) {
    this.#gone = gone
  }

  /** Begins to watch a group whose consumers exist. */
  join(connection: NatsConnection, groups: Groups, { main, standpoint }: Group): void {
    this.#connection = connection
    this.#groups = groups
    this.main = main
    this.standpoint = standpoint
  }

  /** Counts an event that is done. */
  done(): void {
    if (++this.#sinceLook >= SOON.events && performance.now() - this.#lookedAt >= SOON.milliseconds)
      void this.look()
  }

  async look(): Promise<void> {
    const { main, standpoint } = this
    this.#sinceLook = 0
    this.#lookedAt = performance.now()
    if (main === undefined || standpoint === undefined) return
    const info = await this.infoOf(main)
    if (info === undefined || standpoint !== this.standpoint) return
    if (info.created !== standpoint.consumerMadeAt) return this.#gone('another one has its name')
    this.lag = info.num_pending + info.num_ack_pending
    this.isPaused = info.paused === true
    const done = Math.max(standpoint.done, info.ack_floor.stream_seq)
    const pausedUntil = this.isPaused ? info.config.pause_until : undefined
    this.standpoint = { ...standpoint, done, pausedUntil }
  }

  /**
   * The server's information on a consumer; `undefined` if the server does not answer. If the consumer no longer
   * exists, `gone` is called, and the consumer is created again.
   */
  async infoOf(subscription: Subscription): Promise<ConsumerInfo | undefined> {
    const { standpoint } = this
    if (this.#connection?.isConnected !== true) return undefined
    try {
      return await this.#groups?.info(subscription)
    } catch (error) {
      // Without an answer, the last known values stay.
      const isGone = isMissing(error) || isOff(error)
      const why = isOff(error) ? 'JetStream is off, or not ready' : (error as Error).message
      if (isGone && standpoint === this.standpoint) this.#gone(why)
      return undefined
    }
  }

  /**
   * The server's information on the group's consumer; `undefined` if another consumer has its name.
   * @throws the server's error
   */
  async ask(): Promise<GroupInfo | undefined> {
    const info = this.main && (await this.#groups?.info(this.main))
    return info?.created === this.standpoint?.consumerMadeAt ? info : undefined
  }

  /**
   * Lets the server serve another process at once, if it serves this process: otherwise the others would wait until
   * the pin expires.
   */
  async unpin(pin: string | undefined): Promise<void> {
    if (pin === undefined || this.main === undefined || this.#connection?.isConnected !== true) return
    const info = await this.ask()
    if (info?.priority_groups?.[0]?.pinned_client_id === pin) await this.#groups?.unpin(this.main)
  }
}
