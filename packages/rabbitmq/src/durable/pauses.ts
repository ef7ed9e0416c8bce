/** Queues in which the failed events of a group wait for their next attempts: RabbitMQ has no other delay. */
import type { Link } from '../connection/link.ts'
import { queueOfPause } from '../words/names.ts'
import { type Copies, NoQueueError, passingTo, safeQueue, UnconfirmedError } from './copies.ts'
import { HEADER, type RabbitEvent } from './stored.ts'

/**
 * Milliseconds until a queue may be new no more: RabbitMQ 3.10 keeps nothing of a queue that it made less than a second before
 * it is killed, also of what it has confirmed.
 */
const SETTLES = 1_000
/** Milliseconds for which a queue of pauses stays when it is not used, beyond the pause. */
const PAUSE_STAYS = 10 * 60_000

interface Declared {
  readonly done: Promise<unknown>
  readonly until: number
}

/** The queues of one group's pauses: one for each length of a pause. */
export class Pauses {
  readonly #queue: string
  readonly #link: () => Link
  readonly #copies: () => Copies
  /** By name; until when a queue need not be declared again. */
  readonly #declared = new Map<string, Declared>()
  /** Part of the names, since a queue has confirmed nothing any more. */
  #generation = 0

  /** @param queue where events come back to */
  constructor(queue: string, link: () => Link, copies: () => Copies) {
    this.#queue = queue
    this.#link = link
    this.#copies = copies
  }

  /**
   * Stores a copy of an event that has failed; it comes back after a pause.
   * @param delay milliseconds
   * @throws {NotStoredError} RabbitMQ has not stored it
   */
  async put(event: RabbitEvent, delay: number): Promise<void> {
    const generation = this.#generation
    const pause = roundedUp(delay)
    const name = queueOfPause(this.#queue, pause, generation)
    try {
      await this.#declare(name, pause)
      await this.#copies().put(
        name,
        event.message.content,
        event.copyWith({ [HEADER.failed]: event.attempt })
      )
    } catch (error) {
      if (error instanceof NoQueueError) this.#declared.delete(name)
      // Its queue may have no leader ever after: see `SETTLES`.
      if (error instanceof UnconfirmedError && generation === this.#generation) this.#generation++
      throw error
    }
  }

  #declare(name: string, pause: number): Promise<unknown> {
    const now = performance.now()
    const known = this.#declared.get(name)
    if (known !== undefined && now < known.until) return known.done
    const options = { 'x-message-ttl': pause, 'x-expires': pause + PAUSE_STAYS }
    const done = this.#link()
      .aside((channel) => channel.assertQueue(name, safeQueue({ ...passingTo(this.#queue), ...options })))
      .then(() => new Promise((resolve) => setTimeout(resolve, SETTLES)))
    this.#declared.set(name, { done, until: now + PAUSE_STAYS / 2 })
    done.catch(() => this.#declared.delete(name))
    return done
  }
}

/** A pause with two digits that count, and not shorter: each is a queue of its own. */
export function roundedUp(delay: number): number {
  const least = Math.max(10, delay)
  const step = 10 ** (Math.floor(Math.log10(least)) - 1)
  return Math.ceil(least / step) * step
}
