/**
 * Runs the events of a durable handler. Afterwards an event is acknowledged, stored for a retry, or stored as a dead
 * letter. The worker decides when an event begins.
 */
import { type ConsumerInit, newSecret } from '@elysia-microservices/engine'
import { type Clock, type DurableEngine, GivenUp, reasonToGiveUp } from '@elysia-microservices/transport/kit'
import type { Link } from '../connection/link.ts'
import { queueOfDead } from '../words/names.ts'
import type { Copies } from './copies.ts'
import type { Deliveries } from './deliveries.ts'
import type { HeldEvents } from './held.ts'
import type { Pauses } from './pauses.ts'
import { Runs } from './runs.ts'
import { HEADER, messageOf, type RabbitEvent } from './stored.ts'

export interface ConsumerOptions extends ConsumerInit {
  readonly copies: () => Copies
  /** Default: the system's clock. */
  readonly clock?: Clock
}

export interface HandlingInit {
  readonly options: ConsumerOptions
  readonly held: HeldEvents
  readonly pauses: Pauses
  /** The deliveries of the current channel; `undefined` while there is none. */
  readonly deliveries: () => Deliveries | undefined
  readonly link: () => Link
}

type Decisions = Pick<DurableEngine<RabbitEvent>, 'run' | 'letGo' | 'acknowledge' | 'retry' | 'bury'>

/** Handles the events of one consumer. */
export class Handling implements Decisions {
  readonly #init: HandlingInit
  readonly #runs: Runs
  /** Retries whose copies are not stored yet. */
  readonly #retrying = new Set<Promise<void>>()

  constructor(init: HandlingInit) {
    const { group, copies } = init.options
    this.#init = init
    this.#runs = new Runs(group, copies)
  }

  /** Resolves when all retries are stored: otherwise their events would be delivered again beside their copies. */
  async stored(): Promise<void> {
    await Promise.all(this.#retrying)
  }

  run(event: RabbitEvent): void | Promise<void> {
    if (this.#isDoubtful(event)) return this.#runCounted(event)
    const { dispatcher, group, via } = this.#init.options
    return dispatcher.event(messageOf(event, group, via))
  }

  /** Whether an ordered event may have begun more often than this process knows: the server counts only deliveries. */
  #isDoubtful({ deliveredBefore }: RabbitEvent): boolean {
    const { ordered, retry } = this.#init.options.route.durable
    return ordered && deliveredBefore >= retry.attempts
  }

  async #runCounted(event: RabbitEvent): Promise<void> {
    const { dispatcher, group, via, route } = this.#init.options
    event.attempt = Math.max(event.attempt, await this.#runs.begin(event, this.#init.link()))
    const reason = reasonToGiveUp(event.attempt, route.durable)
    if (reason !== undefined) throw new GivenUp(reason)
    await dispatcher.event(messageOf(event, group, via))
  }

  letGo(event: RabbitEvent): void {
    // An event that waited behind one whose channel is lost may have come over the new channel: the server has it again
    // only if it is given back.
    this.#init.held.settle(event, false, this.#init.deliveries())
  }

  acknowledge(event: RabbitEvent): void {
    const { held, link, deliveries } = this.#init
    this.#runs.end(event, link())
    held.done(event, deliveries())
  }

  retry(event: RabbitEvent, delay: number): void {
    const retrying = this.#retry(event, delay).finally(() => this.#retrying.delete(retrying))
    this.#retrying.add(retrying)
  }

  /**
   * Stores a copy in a queue from which the event comes back after the delay. Then the event itself is acknowledged.
   */
  async #retry(event: RabbitEvent, delay: number): Promise<void> {
    const { held, pauses, options, deliveries } = this.#init
    // The process is stopping: an ordered event is delivered again at its place in the queue.
    if (options.route.durable.ordered) return held.forget(event)
    try {
      await pauses.put(event, delay)
      held.settle(event, true, deliveries())
    } catch (error) {
      options.logger.warn(
        `A durable event '${event.pattern}' cannot be stored for a retry; it is delivered again at once`,
        error
      )
      held.settle(event, false, deliveries())
    }
  }

  async bury(event: RabbitEvent, reason: string): Promise<void> {
    const { group, copies } = this.#init.options
    const said = {
      [HEADER.reason]: reason,
      [HEADER.attempts]: event.attempt,
      // A dead letter that a user moves back into the queue of its group is a new event, whose attempts count from 1
      // again.
      [HEADER.unique]: newSecret(),
      [HEADER.failed]: 0
    }
    await copies().put(group, queueOfDead(group), event.message.content, event.copyWith(said))
    this.acknowledge(event)
  }
}
