/**
 * Runs the events of a durable handler. Afterwards an event is acknowledged, given back for a retry, or stored as a dead
 * letter. The worker decides when an event begins.
 */
import { type ConsumerInit, type Publisher, whyTooOld } from '@elysia-microservices/engine'
import type { DurableEngine, DurableWorker } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { ACK, nak, WORKING } from './acknowledgements.ts'
import { deadLetterOf, messageOf, type NatsEvent } from './event.ts'
import type { Groups } from './groups.ts'
import { HeldEvents } from './held.ts'
import type { Subscription } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Runs } from './runs.ts'
import type { GroupWatch } from './watch.ts'

/** After this share of `ackWait` without a further acknowledgement, another process may have got the event. */
const LEASE = 0.8

export interface HandlingOptions extends ConsumerInit {
  readonly ackWait: number
  /** The groups, over the current connection. */
  readonly groups: () => Groups
  /** Publishes dead letters. */
  readonly publisher: Publisher<StoredMessage>
}

export interface HandlingInit {
  readonly options: HandlingOptions
  readonly watch: GroupWatch
  readonly worker: () => DurableWorker<NatsEvent>
  /** Whether the group is being restored at the server. */
  readonly isRecovering: () => boolean
}

type Decisions = Pick<DurableEngine<NatsEvent>, 'run' | 'acknowledge' | 'whyNotLater' | 'retry' | 'bury'>

/** Handles the events of one consumer. */
export class Handling implements Decisions {
  readonly held = new HeldEvents()
  readonly runs: Runs
  connection: NatsConnection | undefined
  /** Milliseconds for which the stream keeps events; 0: for ever. */
  maxAge = 0
  readonly #init: HandlingInit
  /** Events that ended during a recovery: their acknowledgements are sent if the server turns out to have kept them. */
  #unsent: NatsEvent[] = []

  constructor(init: HandlingInit) {
    this.#init = init
    const { worker, watch, options } = init
    this.runs = new Runs({
      isBehind: ({ key }) => worker().holdsKey(key),
      store: async (text) => {
        if (watch.main !== undefined) await options.groups().noteRuns(watch.main, text)
      }
    })
  }

  /** Until when an event belongs to this process that has just arrived. */
  get leasedUntil(): number {
    return performance.now() + this.#init.options.ackWait * LEASE
  }

  run(event: NatsEvent): void | Promise<void> {
    const { dispatcher, group, via } = this.#init.options
    const noted = event.isNoted ? this.runs.begins(event) : undefined
    const run = () => dispatcher.event(messageOf(event, group, via))
    return noted === undefined ? run() : noted.then(run)
  }

  acknowledge(event: NatsEvent): void {
    this.held.done(event)
    if (event.isNoted) this.runs.done(event)
    if (event.isOnlyHere && this.#init.isRecovering()) this.#unsent.push(event)
    else this.send(event, ACK)
    this.#init.watch.done()
  }

  /** Ends the list of events that ended during a recovery. @returns the events */
  takeUnsent(): readonly NatsEvent[] {
    const ended = this.#unsent
    this.#unsent = []
    return ended
  }

  retry(event: NatsEvent, delay: number): void {
    this.held.forget(event)
    if (event.isNoted) this.runs.left(event)
    this.send(event, nak(delay))
  }

  whyNotLater({ place: { stream, storedAt }, isOnlyHere }: NatsEvent, delay: number): string | undefined {
    if (isOnlyHere || stream !== this.#init.watch.main?.stream) return undefined
    return whyTooOld(storedAt, this.maxAge, delay)
  }

  async bury(event: NatsEvent, reason: string): Promise<void> {
    const { group, publisher } = this.#init.options
    const { consumer } = this.#init.watch.main as Subscription
    const { maxPayload } = this.connection as NatsConnection
    await publisher.publish(deadLetterOf(event, reason, group, consumer, maxPayload))
    this.acknowledge(event)
  }

  send({ reply, isOnlyHere }: NatsEvent, words: string | Uint8Array): void {
    // The event's stream was deleted, so another event may have the same number by now.
    if (!isOnlyHere) this.connection?.publish(reply, words)
  }

  /** Tells the server that the received events are still being handled. */
  keep(): void {
    if (this.connection?.isConnected !== true) return
    const { leasedUntil } = this
    for (const event of this.held.values()) {
      // The event has not begun, and another process may have it by now: this process must not claim it again.
      if (performance.now() > event.leasedUntil && !this.#init.worker().isRunning(event)) continue
      event.leasedUntil = leasedUntil
      this.send(event, WORKING)
    }
  }
}
