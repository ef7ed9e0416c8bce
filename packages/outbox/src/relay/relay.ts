/** `outboxRelay()`: publishes the events that committed transactions have stored in the outbox. */
import { AsyncResource } from 'node:async_hooks'
import {
  backoffDelay,
  insideOf,
  OptionError,
  quietLog,
  shown,
  tellFigures
} from '@elysia-microservices/transport/kit'
import { databaseOf } from '../database/adapter.ts'
import type { Database } from '../database/database.ts'
import { type PruneOptions, prune } from '../prune.ts'
import { channelOf, inSchema } from '../schema.ts'
import { addTo, GRACE, LONGEST_PAUSE, type Outcome, publishAll, type Unanswered } from './chains.ts'
import { LeftBehind } from './left-behind.ts'
import { type CheckedRelayOptions, type OutboxRelayOptions, relayOptions } from './options.ts'
import { type PutAside, PutAsideEvents } from './put-aside.ts'
import { type Round, roundOf } from './round.ts'
import { Sleep } from './sleep.ts'
import {
  CHECK_MARK,
  CHECK_PAUSES,
  FAILED,
  FETCH,
  LEAD,
  LEFT,
  MOVE_MARK,
  PROBE,
  PRUNE,
  PUBLISHED,
  SLEEP,
  STATS
} from './statements.ts'
import { type Watched, watchedTransaction } from './watched.ts'

/** Figures of an outbox and of one of its relays. */
export interface OutboxStats {
  /** Events that this relay has published since it was made. */
  readonly published: number
  /** How many of these events the broker had already. */
  readonly duplicates: number
  /** Failed attempts of this relay to publish an event. */
  readonly retries: number
  /** Events in the outbox that wait to be published. */
  readonly pending: number
  /** Milliseconds since the oldest waiting event was stored; 0 if no event waits. */
  readonly oldest: number
  /** Events of the outbox that are put aside. */
  readonly failed: number
}

/**
 * Publishes the events of an outbox, and maintains its tables. The other methods work without `start` and `stop`,
 * too.
 */
export interface OutboxRelay {
  /**
   * Starts publishing. If there are several relays, one of them publishes at a time. If the database or the broker
   * fails later, the relay retries with growing pauses.
   * @throws {OptionError} the tables are missing
   * @throws {ConnectionError} the database cannot be reached
   */
  start(): Promise<void>
  /**
   * Stops publishing. Resolves when the events that were sent are stored or have failed. The next relay publishes
   * the remaining events.
   */
  stop(): Promise<void>
  /**
   * The counts of this relay's work, and of the events that wait in the database.
   * @throws {ConnectionError} the database cannot be reached
   */
  stats(): Promise<OutboxStats>
  /** Removes published events together with their ids. @returns how many events were removed */
  prune(options: PruneOptions): Promise<number>
  /** Events that can never be published as they are: too large, or refused as invalid. */
  readonly failed: PutAside
}

/** Milliseconds between readings while a relay falls asleep, and the number of these readings. */
const LINGER = 20
const LINGERS = 10
/**
 * Largest number of events that are tried at a time while all attempts fail, and that are left behind unanswered: a broker
 * that answers nothing gets no more than these.
 */
const FEW = 16
/**
 * Milliseconds after which a round sends no further events of its batch: events that are committed during a round wait
 * for its end.
 */
const ROUND = 1_000
/** Milliseconds that the end of listening may take. */
const UNLISTEN = 1_000
/**
 * Milliseconds between two moves of the mark, and the number of published events after which it moves sooner. Each
 * move leaves a dead version of the mark's row. Pauses are checked together with the mark.
 */
const MOVE_MARK_EVERY = 1_000
const MOVE_MARK_AFTER = 5_000
/**
 * Milliseconds between two checks of the mark. The interval is longer if a check takes long, as it does while dead
 * row versions cannot be removed.
 */
const CHECK_MARK_EVERY = 60_000
/** Size in bytes of the stored data after which a batch takes no further event. */
const MOST_BYTES = 16 * 1024 * 1024
/** Pauses while the database or the broker is down, in milliseconds. */
const PAUSES = { minDelay: 100, maxDelay: 10_000 }

/**
 * The relay's work runs in this asynchronous scope, so that it does not belong to the trace, or any other context,
 * of the code that has started the relay.
 */
const outside = new AsyncResource('outbox relay')

/** Makes a relay, which does nothing before `start()`. @throws {OptionError} an option is invalid */
export function outboxRelay(options: OutboxRelayOptions): OutboxRelay {
  return new Relay(relayOptions(options))
}

class Relay implements OutboxRelay {
  readonly failed: PutAside
  readonly #options: CheckedRelayOptions
  readonly #database: Database
  readonly #sleep = new Sleep()
  #running: Promise<void> | undefined
  #isStopping = false
  #isAsleep = false
  /**
   * The times of the next move and of the next check of the mark, and the number of events that were published at
   * the last move.
   */
  #moveAt = 0
  #publishedAtMove = 0
  #checkAt = 0
  #listening: Promise<(() => Promise<void>) | undefined> | undefined
  #lossesInARow = 0
  #failuresInARow = 0
  readonly #leftBehind = new LeftBehind(() => this.#sleep.wake())
  #published = 0
  #duplicates = 0
  #retries = 0

  constructor(options: CheckedRelayOptions) {
    this.#options = options
    this.#database = databaseOf(options.sql)
    const { max } = Object(Reflect.get(options.sql, 'options')) as { max?: unknown }
    if (max === 1)
      throw new OptionError('options.sql', 'options.sql needs two connections: one to publish, one to listen')
    this.failed = new PutAsideEvents(this.#database, options.schema, () => this.#sleep.wake())
  }

  async start(): Promise<void> {
    if (this.#running !== undefined)
      throw new OptionError('relay', 'The relay was started already; make a new relay with outboxRelay()')
    await this.#database.query(this.#at(PROBE)).catch((error: unknown) => {
      throw isTableMissing(error) ? this.#tablesAreMissing(error) : error
    })
    this.#running ??= outside.runInAsyncScope(() => this.#run())
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#sleep.wake()
    await this.#running
  }

  async stats(): Promise<OutboxStats> {
    const [row] = await this.#database.query(this.#at(STATS))
    return {
      published: this.#published,
      duplicates: this.#duplicates,
      retries: this.#retries,
      pending: Number(row!['pending']),
      oldest: Math.max(0, Number(row!['oldest'] ?? 0)),
      failed: Number(row!['failed'])
    }
  }

  prune(options: PruneOptions): Promise<number> {
    return prune(this.#database, this.#at(PRUNE), options)
  }

  async #run(): Promise<void> {
    const { schema, client } = this.#options
    const engine = insideOf(client)?.engine
    const attributes = { schema, ...(engine !== undefined && { engine }) }
    const untell = tellFigures({
      name: 'outbox',
      attributes,
      read: async () => ({ ...(await this.stats()) })
    })
    let readings = 0
    while (!this.#isStopping) {
      const { pollInterval, publishTimeout } = this.#options
      const late = this.#leftBehind.take()
      try {
        const round = await watchedTransaction(this.#database, publishTimeout, (connection) =>
          this.#round(connection, late)
        )
        this.#listen()
        if (round === 'none published') this.#failuresInARow++
        else if (round !== 'unanswered') this.#failuresInARow = 0
        if (round === 'none published') await this.#pause()
        if (round === 'standby') await this.#sleep.sleep(pollInterval)
        if (round !== 'nothing') readings = 0
        else if (++readings < LINGERS) await this.#sleep.sleep(Math.min(LINGER, pollInterval))
        else if (this.#isAsleep) await this.#sleep.sleep(pollInterval)
        // The relay announces its sleep in a transaction of its own. Before it sleeps there is another reading.
        else await watchedTransaction(this.#database, publishTimeout, (each) => this.#setAsleep(each, true))
      } catch (error) {
        this.#leftBehind.putBack(late)
        this.#failuresInARow++
        this.#complain('database', 'The outbox cannot be read; trying again', error)
        await this.#pause()
      }
    }
    untell()
    await this.#endLate()
    // The relay does not wait long for a database that does not answer.
    const unlistened = this.#listening?.then((end) => end?.()).catch(() => {})
    await Promise.race([unlistened, new Sleep().sleep(UNLISTEN)])
  }

  /** @param late what became of events that were left behind, to be recorded */
  async #round(connection: Watched, late: Outcome): Promise<Round> {
    const { client, batch, publishTimeout } = this.#options
    const [lead] = await connection.query(this.#at(LEAD))
    if (lead!['leads'] !== true) {
      await this.#record(connection, late)
      return 'standby'
    }
    this.#isAsleep = lead!['asleep'] === true
    // Before anything is recorded: the mark moves only in a transaction that has not written yet.
    await this.#lookAfterMark(connection)
    await this.#record(connection, late)
    const most = this.#failuresInARow === 0 ? batch : Math.min(batch, FEW)
    const bounds = [most, MOST_BYTES].map(String)
    const rows = await connection.query(this.#at(FETCH), bounds)
    if (rows.length === 0) return roundOf(late) ?? 'nothing'
    const end = performance.now() + ROUND
    const wait = new Sleep()
    const outcome = await publishAll(rows, client, {
      timeout: publishTimeout,
      mayGoOn: () => !this.#isStopping && connection.isOpen && performance.now() < end,
      over: wait.sleep(ROUND),
      few: FEW - this.#leftBehind.size
    })
    wait.wake()
    await this.#record(connection, outcome)
    await this.#leave(connection, outcome.unanswered)
    if (this.#isAsleep) await this.#setAsleep(connection, false)
    addTo(outcome, late)
    return roundOf(outcome) ?? (outcome.unanswered.length > 0 ? 'unanswered' : 'some')
  }

  /** Leaves events behind that the broker has not answered. Their outcome is recorded in a later round. */
  async #leave(connection: Watched, unanswered: readonly Unanswered[]): Promise<void> {
    if (unanswered.length === 0) return
    const now = performance.now()
    const columns = unanswered.map(({ position, until }) => ({ position, pause: until - now + GRACE }))
    await connection.query(this.#at(LEFT), [JSON.stringify(columns)])
    this.#leftBehind.add(unanswered)
  }

  /** Waits for the events that were left behind, and records what became of them. */
  async #endLate(): Promise<void> {
    const late = await this.#leftBehind.takeAll()
    if (late.published.length + late.failures.length === 0) return
    try {
      await watchedTransaction(this.#database, this.#options.publishTimeout, (each) =>
        this.#record(each, late)
      )
    } catch (error) {
      this.#complain(
        'database',
        'The outbox cannot be written; a later relay publishes some events again',
        error
      )
    }
  }

  /** Records what became of events. */
  async #record(connection: Watched, { published, failures, duplicates }: Outcome): Promise<void> {
    if (published.length > 0) await connection.query(this.#at(PUBLISHED), [`{${published.join()}}`])
    if (failures.length > 0) {
      const columns = failures.map(({ position, reason, pause }) => ({ position, reason, pause }))
      await connection.query(this.#at(FAILED), [JSON.stringify(columns)])
    }
    // If this fails, all is recorded again, and counts once.
    this.#published += published.length
    this.#duplicates += duplicates
    this.#retries += failures.length
    for (const { id, pattern, reason, pause, cause } of failures) {
      const which = `Event ${shown(id)} of '${shown(pattern)}'`
      if (pause !== null)
        this.#complain('event', `${which} cannot be published, trying again: ${reason}`, cause)
      else
        this.#options.logger.error(
          `${which} is put aside, because it can never be published (see relay.failed): ${reason}`,
          cause
        )
    }
  }

  async #lookAfterMark(connection: Watched): Promise<void> {
    const now = performance.now()
    if (now >= this.#checkAt) {
      await connection.query(this.#at(CHECK_MARK))
      const took = performance.now() - now
      this.#checkAt = now + Math.max(CHECK_MARK_EVERY, took * 100)
    }
    if (now >= this.#moveAt || this.#published - this.#publishedAtMove >= MOVE_MARK_AFTER) {
      await connection.query(this.#at(MOVE_MARK))
      // After the mark's move, which must be the first statement that writes.
      await connection.query(this.#at(CHECK_PAUSES), [String(this.#longestPause)])
      this.#moveAt = now + MOVE_MARK_EVERY
      this.#publishedAtMove = this.#published
    }
  }

  /** Milliseconds for which an event may wait, at most. */
  get #longestPause(): number {
    return Math.max(LONGEST_PAUSE, this.#options.publishTimeout + 2 * GRACE)
  }

  async #setAsleep(connection: Watched, isAsleep: boolean): Promise<void> {
    await connection.query(this.#at(SLEEP), [String(isAsleep)])
    this.#isAsleep = isAsleep
  }

  /**
   * Starts listening for new events, if the relay does not listen yet. Until listening works, the relay looks for
   * events at intervals.
   */
  #listen(): void {
    if (this.#listening !== undefined) return
    const wake = () => this.#sleep.wake()
    // A sleeping relay listens again after its next round. The pause is for connections that are lost each time.
    const lost = () => {
      if (this.#listening !== listening) return
      this.#listening = undefined
      setTimeout(wake, backoffDelay(PAUSES, this.#lossesInARow++, Math.random())).unref()
    }
    const listening = this.#database
      .listen(channelOf(this.#options.schema), wake, lost)
      .then((end) => {
        this.#lossesInARow = 0
        return end
      })
      .catch((error: unknown) => {
        lost()
        this.#complain(
          'listen',
          'The relay of the outbox cannot LISTEN for new events; it looks for them at intervals',
          error
        )
        return undefined
      })
    this.#listening = listening
  }

  #pause(): Promise<void> {
    return this.#sleep.sleep(backoffDelay(PAUSES, this.#failuresInARow - 1, Math.random()))
  }

  #complain(kind: 'database' | 'listen' | 'event', message: string, cause: unknown): void {
    quietLog(this.#options.logger).warn(`outbox ${kind}`, message, cause)
  }

  #tablesAreMissing(cause: unknown): OptionError {
    const { schema } = this.#options
    return new OptionError(
      'options.schema',
      `The schema ${schema} has no outbox; create its tables: await migrate(sql${schema === 'elysia_microservices' ? '' : `, { schema: '${schema}' }`})`,
      cause
    )
  }

  #at(statement: string): string {
    return inSchema(statement, this.#options.schema)
  }
}

/** PostgreSQL's error codes for a missing table and a missing schema. Bun has them in `errno`. */
function isTableMissing(error: unknown): boolean {
  const { code, errno } = Object(error) as Record<string, unknown>
  return [code, errno].some((given) => given === '42P01' || given === '3F000')
}
