/**
 * Writers whose transactions overlap, last long, use savepoints and are rolled back. The load records which events
 * were committed.
 */
import { randomFrom } from '@elysia-microservices/test-support'
import type pg from 'pg'
import { OpenTransaction, type Told } from './open-transaction.ts'

/** How many transactions are asked about in one statement. */
const SOME = 20_000

/** Selects the commit time of each transaction, in microseconds. */
const COMMITTED_AT = `select (extract(epoch from pg_xact_commit_timestamp(number::text::xid)) * 1000000)::bigint::text as at
from unnest($1::text[]) with ordinality as given (number, place) order by place`

export interface LoadOptions {
  /** The number of events to commit before the load may end. */
  readonly events: number
  /** Called when this number of events was committed. Returns whether the load may end. Default: always true. */
  readonly isEnough?: () => boolean
  readonly writers: number
  readonly keys: number
  /** Milliseconds that long transactions stay open at most; 0 for no long transactions. */
  readonly long: number
  readonly seed: number
}

export class Load {
  /** The committed events. */
  readonly committed: Told[] = []
  /** The committed transactions. */
  readonly #transactions: { readonly number: string; readonly events: readonly Told[] }[] = []
  rolledBack = 0
  /** The largest number of transactions that were open at the same time. */
  mostOpen = 0
  #open = 0
  #made = 0
  readonly #pool: pg.Pool
  readonly #options: LoadOptions
  readonly #random: () => number

  constructor(pool: pg.Pool, options: LoadOptions) {
    this.#pool = pool
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async run(): Promise<void> {
    const writers = Array.from({ length: this.#options.writers }, () => this.#write())
    if (this.#options.long > 0)
      writers.push(
        this.#hold('isolation level repeatable read', 'select 1'),
        this.#hold('', 'select pg_current_xact_id()')
      )
    await Promise.all(writers)
  }

  /**
   * Returns the committed events in the order of their commits, from PostgreSQL's `track_commit_timestamp`. The
   * order of PostgreSQL's answers may differ, because one of its processes may have to wait for a processor before
   * it answers.
   */
  async inOrder(): Promise<Told[]> {
    const all: { readonly at: number; readonly events: readonly Told[] }[] = []
    for (let first = 0; first < this.#transactions.length; first += SOME) {
      const some = this.#transactions.slice(first, first + SOME)
      const { rows } = await this.#pool.query<{ at: string }>(COMMITTED_AT, [
        some.map(({ number }) => number)
      ])
      for (const [index, { events }] of some.entries()) all.push({ at: Number(rows[index]!.at), events })
    }
    return all.sort((one, other) => one.at - other.at).flatMap(({ events }) => events)
  }

  get #isOver(): boolean {
    const { events, isEnough } = this.#options
    return this.committed.length >= events && (isEnough?.() ?? true)
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      const transaction = await OpenTransaction.begin(this.#pool)
      this.mostOpen = Math.max(this.mostOpen, ++this.#open)
      // All transactions lock their keys in the same order, because otherwise they could wait for each other in a
      // circle.
      const keys = [this.#key(), this.#key()].sort()
      for (const key of keys) {
        // The pause simulates other work of the transaction.
        if (this.#random() < 0.2) await pause(this.#random() * 20)
        const isTakenBack = this.#random() < 0.15
        if (isTakenBack) await transaction.savepoint()
        await transaction.publish(this.#event(key))
        if (this.#random() < 0.3) await transaction.publish(this.#event(undefined))
        if (isTakenBack) await transaction.endSavepoint(false)
      }
      if (this.#options.long > 0 && this.#random() < 0.01) await pause(this.#random() * this.#options.long)
      const isRolledBack = this.#random() < 0.1
      const number = isRolledBack ? '' : await transaction.number()
      this.#open--
      const events = await transaction.end(isRolledBack ? 'rollback' : 'commit')
      this.committed.push(...events)
      if (events.length > 0) this.#transactions.push({ number, events })
      if (isRolledBack) this.rolledBack++
    }
  }

  /** Holds a transaction open, as a report or a long import does. */
  async #hold(isolation: string, statement: string): Promise<void> {
    while (!this.#isOver) {
      const client = await this.#pool.connect()
      await client.query(`begin ${isolation}`)
      await client.query(statement)
      await pause(this.#options.long)
      await client.query('commit')
      client.release()
    }
  }

  #key(): string {
    return `key ${String(Math.floor(this.#random() * this.#options.keys)).padStart(5, '0')}`
  }

  #event(key: string | undefined): Told {
    return { id: String(++this.#made), key }
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
