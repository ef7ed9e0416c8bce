/** Asks the server about a group: its lag, its position, and whether it is paused. */
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { GroupInfo } from './early.ts'
import type { Group, Groups, Standpoint } from './groups.ts'
import { isMissing, isOff } from './jetstream-errors.ts'
import type { Subscription } from './names.ts'

/**
 * Under load the server is asked earlier, after this many events and milliseconds: if the consumer is lost, all
 * events since the last known position run again.
 */
const SOON = { events: 250, milliseconds: 100 }
/** Milliseconds after which a figure is too old to be read. */
const FRESH = 5_000
/** Milliseconds after a reading of the figures, for which they are kept up to date. */
const READ_FOR = 120_000
/** Looks without an event in between, after which the position of the group is known: acknowledgements are on their way. */
const LOOKS_AFTER = 2

/** Watches the group of one handler. */
export class GroupWatch {
  readonly #gone: (why: string) => void
  readonly #hasEvents: () => boolean
  #connection: NatsConnection | undefined
  #groups: Groups | undefined
  /** The consumer of the group; `undefined` before it was created. */
  main: Subscription | undefined
  standpoint: Standpoint | undefined
  /** Events that are stored and not done; `undefined`: not known yet. */
  lag: number | undefined
  isPaused = false
  #needsNotes = false
  /** Events done since the server was last asked, and when that was. */
  #sinceLook = 0
  #lookedAt = 0
  #looksSinceEvent = 0
  #readAt = Number.NEGATIVE_INFINITY

  /**
   * @param gone is called with the reason if the consumer, its stream, or all streams no longer exist
   * @param hasEvents whether this process has events that are not done
   */
  constructor(gone: (why: string) => void, hasEvents: () => boolean) {
    this.#gone = gone
    this.#hasEvents = hasEvents
  }

  /** Begins to watch a group whose consumers exist. */
  join(connection: NatsConnection, groups: Groups, { main, standpoint, needsNotes }: Group): void {
    this.#connection = connection
    this.#groups = groups
    this.main = main
    this.standpoint = standpoint
    this.#needsNotes = needsNotes
    this.#looksSinceEvent = 0
  }

  /** Whether nothing has happened that the server knows and this process does not, and nobody reads the figures. */
  get isQuiet(): boolean {
    if (this.#looksSinceEvent < LOOKS_AFTER || this.#hasEvents()) return false
    return performance.now() - this.#readAt > READ_FOR
  }

  /** The figures are read: from now on, and for a while, they are kept up to date. */
  read(): void {
    this.#readAt = performance.now()
    if (this.#readAt - this.#lookedAt > FRESH) void this.look()
  }

  /** Counts an event that is done. */
  done(): void {
    this.#looksSinceEvent = 0
    if (++this.#sinceLook >= SOON.events && performance.now() - this.#lookedAt >= SOON.milliseconds)
      void this.look()
  }

  async look(): Promise<void> {
    const { main, standpoint } = this
    this.#sinceLook = 0
    this.#looksSinceEvent++
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

  /** The process leaves its group. */
  async leave(): Promise<void> {
    if (this.main === undefined || !this.#needsNotes || this.#connection?.isConnected !== true) return
    // Without the note, the group is warned once more than needed.
    await this.#groups?.left(this.main).catch(() => {})
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
