/** The transactions of handlers: what a handler writes into the file and the acknowledgement of its event are one. */
import { TransactionalRuns } from '@elysia-microservices/engine'
import type { Delivery, Logger } from '@elysia-microservices/transport/kit'
import type { InTransaction } from '../connection/in-transaction.ts'
import type { TakenEvent } from '../log/event.ts'

/** Acknowledges events in a transaction: the handler that has them. */
export interface Acknowledger {
  readonly logger: Logger
  /** Whether nobody else has the event. */
  has(event: TakenEvent): boolean
  /** Runs a function in the transaction that acknowledges the event. */
  acknowledgeIn<Result>(event: TakenEvent, run: InTransaction<Result>): Result
}

/** The transactions of one `sqlite()`. */
export class Transactions {
  readonly #runs = new TransactionalRuns<TakenEvent>()
  readonly #acknowledgers = new WeakMap<TakenEvent, Acknowledger>()

  around(
    delivery: Delivery,
    event: TakenEvent,
    acknowledger: Acknowledger,
    handle: () => void | Promise<void>
  ): Promise<void> {
    this.#acknowledgers.set(event, acknowledger)
    return this.#runs.around(delivery, event, acknowledger.logger, handle)
  }

  /** @see SqliteStore.transaction */
  async transaction<Result>(
    delivery: Delivery | undefined,
    handle: InTransaction<Result>
  ): Promise<Awaited<Result>> {
    const run = this.#runs.of(delivery)
    const { event } = run
    const acknowledger = this.#acknowledgers.get(event) as Acknowledger
    run.isGone = !acknowledger.has(event)
    if (run.isGone) throw new Error('The event was given back, because its service has stopped')
    const result = acknowledger.acknowledgeIn(event, handle)
    run.isCommitted = true
    event.isAcknowledged = true
    return await result
  }
}
