/**
 * Keeps ordered events that have arrived before it is known whether another process still has earlier ones. No event
 * begins until this process has all events that were delivered and are not done. Then no other process has an earlier
 * event. And no other process begins one as long as the events here are not done: its own check would find them
 * missing.
 */
import { type Clock, type DurableWorker, systemClock } from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsEvent } from './event.ts'

/** Milliseconds until it is checked again whether this process has all delivered events. */
const LOOK_AGAIN = 50
/**
 * Checks in a row that find that waiting is useless, before the events are given back (between this number and twice
 * this number, by chance). Giving back costs deliveries.
 */
const VAIN_LOOKS = 10

/** The server's information on a consumer. The driver's type lacks the id of the pinned client. */
export interface GroupInfo extends ConsumerInfo {
  readonly priority_groups?: readonly { readonly pinned_client_id?: string }[]
}

/** The consumer to which the events belong. */
export interface EarlyOwner {
  /**
   * The server's information on the consumer of the group; `undefined` if the server does not answer, or has another
   * consumer of that name.
   */
  info(): Promise<GroupInfo | undefined>
  /**
   * Counts the events that the server has delivered to this process and to no other. @param lastDelivery the server's
   * number of the last delivery
   */
  countKnown(lastDelivery: number): number
  giveBack(event: NatsEvent): void
  /** Passes an event to the worker. */
  add(event: NatsEvent): void
  /** Requests more events if there is room. */
  fill(): void
}

/** The waiting events of one handler. */
export class EarlyEvents {
  readonly #worker: DurableWorker<NatsEvent>
  readonly #owner: EarlyOwner
  readonly #clock: Clock
  /** `undefined`: no event has to wait. */
  #events: NatsEvent[] | undefined
  /**
   * Events that go back as soon as the server says that it has the consumer. If the server has lost the consumer, these
   * may be the only copies.
   */
  #leaving: NatsEvent[] = []
  /** Cancels the next check. */
  #looking: (() => void) | undefined
  #vainLooks = 0
  #isStopped = false
  /**
   * The id with which the server marks that it serves this process; `undefined`: the server does not serve this
   * process.
   */
  pin: string | undefined

  constructor(worker: DurableWorker<NatsEvent>, owner: EarlyOwner, clock: Clock = systemClock) {
    this.#worker = worker
    this.#owner = owner
    this.#clock = clock
  }

  /** Whether events have to wait. */
  get isWaiting(): boolean {
    return this.#events !== undefined
  }

  get all(): readonly NatsEvent[] {
    return [...(this.#events ?? []), ...this.#leaving]
  }

  /** Adds an event that has arrived while others wait. */
  add(event: NatsEvent): void {
    this.#events?.push(event)
    this.#lookLater()
  }

  /** Lets all events wait from now on, also those whose handler has not begun. */
  begin(): void {
    this.#worker.close()
    this.#events = [...(this.#events ?? []), ...this.#worker.release(true)]
    this.#lookLater()
  }

  /** Asks the server to deliver the waiting events again, as soon as it says that it has the consumer. */
  giveBack(): void {
    this.#leaving = [...this.all]
    this.#events = []
  }

  /**
   * Handles that the server serves another process. The other process waits for all events that this process has, so
   * they go back: here they would wait for events of the other process.
   */
  unpinned(): void {
    this.pin = undefined
    this.begin()
    this.giveBack()
  }

  /** Ends the waiting. @returns the events that have waited */
  end(): readonly NatsEvent[] {
    const events = this.all
    this.#events = undefined
    this.#leaving = []
    return events
  }

  stop(): void {
    this.#isStopped = true
    this.#looking?.()
  }

  #lookLater(): void {
    if (this.#isStopped) return
    this.#looking ??= this.#clock.after(LOOK_AGAIN, () => {
      this.#looking = undefined
      void this.#look()
    })
  }

  async #look(): Promise<void> {
    const events = this.#events
    if (events === undefined || this.#isStopped) return
    // A handler that ran when the waiting began may have failed since. Here its event would not run again before the
    // waiting ends, and the waiting would not end before the event is done.
    this.#leaving.push(...this.#worker.release(true))
    if (events.length + this.#leaving.length === 0) {
      // Nothing waits: for example, this process is not served and has received no events.
      if (this.#worker.held.size > 0) this.#lookLater()
      return
    }
    // If the request fails, the next check repeats it.
    const info = await this.#owner.info().catch(() => undefined)
    if (this.#events !== events || this.#isStopped) return
    if (info !== undefined) this.#leave()
    const known = this.#owner.countKnown(info?.delivered.consumer_seq ?? 0)
    if (info?.num_ack_pending !== known || this.#leaving.length > 0) {
      if (info === undefined || !this.#isInVain(info, known)) this.#vainLooks = 0
      else if (++this.#vainLooks > VAIN_LOOKS * (1 + Math.random())) {
        this.#vainLooks = 0
        this.unpinned()
      }
      this.#lookLater()
      return this.#owner.fill()
    }
    this.#events = undefined
    for (const event of events.sort(bySequence)) this.#owner.add(event)
    this.#worker.open()
    this.#owner.fill()
  }

  #leave(): void {
    const leaving = this.#leaving
    this.#leaving = leaving.filter(({ isOnlyHere }) => isOnlyHere)
    for (const event of leaving) if (!event.isOnlyHere) this.#owner.giveBack(event)
  }

  /**
   * Whether waiting is useless, because other processes wait for the events here while this process waits for theirs.
   */
  #isInVain({ num_ack_pending: pending, priority_groups: groups }: GroupInfo, known: number): boolean {
    // Other processes have handled some of the events here. Which ones, only a new delivery tells.
    if (known > pending) return true
    // The server serves no process, or another one.
    const served = groups?.[0]?.pinned_client_id
    return served === undefined || served !== this.pin
  }
}

/** Compares two events by their position in the stream. */
export function bySequence(one: NatsEvent, other: NatsEvent): number {
  return one.place.sequence - other.place.sequence
}
