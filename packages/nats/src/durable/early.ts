/**
 * Events in order that have come before it is known whether another process holds some that come before them. Nothing
 * begins until all events that were delivered and are not done are here. Then no other process has one that comes before
 * ours, and none gets one as long as ours are not done: its own look would find them missing.
 */
import type { DurableWorker } from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsEvent } from './event.ts'

/** Milliseconds until it is looked again whether all is here. */
const LOOK_AGAIN = 50
/** Looks in a row that find the wait useless, to twice as many by chance, until what is here goes back: it costs deliveries. */
const VAIN_LOOKS = 10

/** The server's information on a consumer. The library's type does not have the client that is pinned. */
export interface GroupInfo extends ConsumerInfo {
  readonly priority_groups?: readonly { readonly pinned_client_id?: string }[]
}

/** The consumer that the events belong to. */
export interface EarlyOwner {
  /** The server's information on the group; `undefined` if it does not answer. */
  info(): Promise<GroupInfo | undefined>
  /** Events that the server knows to be here, and nowhere else. @param lastDelivery its number of the last delivery */
  countKnown(lastDelivery: number): number
  giveBack(event: NatsEvent): void
  /** Asks for more, if there is room. */
  fill(): void
}

/** The early events of one handler. */
export class EarlyEvents {
  readonly #worker: DurableWorker<NatsEvent>
  readonly #owner: EarlyOwner
  /** `undefined`: nothing waits. */
  #events: NatsEvent[] | undefined
  #looking: ReturnType<typeof setTimeout> | undefined
  #vainLooks = 0
  #isStopped = false
  /** By which the server says that this process is served; `undefined`: it is not. */
  pin: string | undefined

  constructor(worker: DurableWorker<NatsEvent>, owner: EarlyOwner) {
    this.#worker = worker
    this.#owner = owner
  }

  /** Whether events wait. */
  get isWaiting(): boolean {
    return this.#events !== undefined
  }

  get all(): readonly NatsEvent[] {
    return this.#events ?? []
  }

  /** An event has come while others wait. */
  add(event: NatsEvent): void {
    this.#events?.push(event)
    this.#lookLater()
  }

  /** From now on everything waits, also what has not begun. */
  begin(): void {
    this.#worker.close()
    this.#events = [...this.all, ...this.#worker.release(true)]
    this.#lookLater()
  }

  /** The server is to deliver again what waits. */
  giveBack(): void {
    for (const event of this.all) this.#owner.giveBack(event)
    this.#events = []
  }

  /** Another process is served. It waits for all that is here, so what has not begun goes back: here it would wait, too. */
  unpinned(): void {
    this.pin = undefined
    this.begin()
    this.giveBack()
  }

  /** Nothing waits any more. @returns what has waited */
  end(): readonly NatsEvent[] {
    const events = this.all
    this.#events = undefined
    return events
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#looking)
  }

  #lookLater(): void {
    if (this.#isStopped) return
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined
      void this.#look()
    }, LOOK_AGAIN)
  }

  async #look(): Promise<void> {
    const events = this.#events
    // A consumer without the right to be served has no early events to look for.
    if (events === undefined || events.length === 0 || this.#isStopped) return
    // If it fails, it is asked again.
    const info = await this.#owner.info().catch(() => undefined)
    if (this.#events !== events || this.#isStopped) return
    const known = this.#owner.countKnown(info?.delivered.consumer_seq ?? 0)
    if (info?.num_ack_pending !== known) {
      if (info === undefined || !this.#isInVain(info, known)) this.#vainLooks = 0
      else if (++this.#vainLooks > VAIN_LOOKS * (1 + Math.random())) {
        this.#vainLooks = 0
        this.unpinned()
      }
      this.#lookLater()
      return this.#owner.fill()
    }
    this.#events = undefined
    for (const event of events.sort(bySequence)) this.#worker.add(event)
    this.#worker.open()
    this.#owner.fill()
  }

  /** Whether others would wait for what is here as we do for what is there. */
  #isInVain({ num_ack_pending: pending, priority_groups: groups }: GroupInfo, known: number): boolean {
    // Others have ended some of these: which, the server says by what it delivers again.
    if (known > pending) return true
    // Until there is something to deliver, nobody is served.
    const served = groups?.[0]?.pinned_client_id
    return served === undefined || served !== this.pin
  }
}

/** In the order of their stream. */
export function bySequence(one: NatsEvent, other: NatsEvent): number {
  return one.place.sequence - other.place.sequence
}
