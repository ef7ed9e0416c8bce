/** The runs of transactional handlers, whose events are acknowledged in a transaction of a database. */
import { type Delivery, type Logger, OptionError, shown } from '@elysia-microservices/transport/kit'

/** An event that a transactional handler has. */
export interface TransactionalEvent {
  readonly pattern: string
  readonly id: string
  /** It was acknowledged in a transaction, which may have been rolled back. */
  isAcknowledged: boolean
}

/** One run of a transactional handler. */
export interface TransactionalRun<Event> {
  readonly event: Event
  /** The transaction that was begun for the handler; `undefined`: none yet, or it was rolled back. */
  transaction: Promise<unknown> | undefined
  isCommitted: boolean
  /** The event was acknowledged before, or another process has it. */
  isGone: boolean
  isOver: boolean
}

/** The runs of one store. */
export class TransactionalRuns<Event extends TransactionalEvent> {
  readonly #runs = new WeakMap<Delivery, TransactionalRun<Event>>()

  /**
   * Runs a handler. Resolves if its event is acknowledged, by its transaction or an earlier one.
   * @throws the handler's error, or one that says that the handler has no transaction
   */
  async around(
    delivery: Delivery,
    event: Event,
    logger: Logger,
    handle: () => void | Promise<void>
  ): Promise<void> {
    const run = { event, transaction: undefined, isCommitted: false, isGone: false, isOver: false }
    event.isAcknowledged = false
    this.#runs.set(delivery, run)
    try {
      await this.#toItsEnd(run, logger, handle)
    } finally {
      run.isOver = true
      event.isAcknowledged ||= run.isGone
    }
    if (!event.isAcknowledged)
      throw new Error(
        'The handler is transactional and has ended without its transaction: call store.transaction(delivery, …), or throw new Discard(…)'
      )
  }

  async #toItsEnd(
    run: TransactionalRun<Event>,
    logger: Logger,
    handle: () => void | Promise<void>
  ): Promise<void> {
    try {
      await handle()
      // Nobody may have awaited it.
      await run.transaction
    } catch (error) {
      await run.transaction?.catch(() => {})
      if (run.isGone) return
      if (!run.isCommitted) throw error
      const what = `the event '${shown(run.event.pattern)}' (id ${run.event.id})`
      logger.warn(
        `The handler of ${what} has failed after its transaction was committed: the event is done`,
        error
      )
    }
  }

  /**
   * The run to which a transaction belongs.
   * @throws {OptionError} there is none, or it has a transaction
   */
  of(delivery: Delivery | undefined): TransactionalRun<Event> {
    const run = delivery && this.#runs.get(delivery)
    if (run === undefined)
      throw new OptionError(
        'delivery',
        'delivery must be that of an event which a handler with durable: { transactional: true } has from this store'
      )
    if (run.isOver)
      throw new OptionError('delivery', 'The handler of this delivery has ended: await its transaction')
    if (run.transaction !== undefined || run.event.isAcknowledged)
      throw new OptionError(
        'delivery',
        'This delivery has a transaction already: write everything in that one'
      )
    return run
  }
}
