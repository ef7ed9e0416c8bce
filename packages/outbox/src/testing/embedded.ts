/**
 * PostgreSQL inside the process, compiled to WebAssembly: the statements of this package run on it without a server. It
 * has one session, so nothing waits for anything here; the slow tests have what several sessions do.
 */
import { PGlite } from '@electric-sql/pglite'
import type { DatabaseSql, TransactionSql } from '../database/adapter.ts'
import type { Row } from '../database/database.ts'

export class Embedded {
  readonly #engine: PGlite

  private constructor(engine: PGlite) {
    this.#engine = engine
  }

  /** Loads PostgreSQL, which takes a second or two. */
  static async open(): Promise<Embedded> {
    return new Embedded(await PGlite.create())
  }

  readonly #query = async (text: string, values?: readonly unknown[]) => {
    if (values !== undefined) return this.#engine.query<Row>(text, [...values])
    const results = await this.#engine.exec(text)
    return { rows: (results.at(-1)?.rows ?? []) as Row[] }
  }

  /** The pool of `pg` over it. */
  get sql(): DatabaseSql {
    const client = { query: this.#query, on() {}, removeListener() {}, release() {} }
    const connect = (connected: (error: undefined, given: object) => void) => connected(undefined, client)
    return { totalCount: 0, query: this.#query, connect } as unknown as DatabaseSql
  }

  /** A client of `pg` that is taken to be in a transaction. */
  get transaction(): TransactionSql {
    return { query: this.#query } as unknown as TransactionSql
  }

  async query(text: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#query(text, values)).rows
  }

  /** Runs statements without values. */
  async run(text: string): Promise<void> {
    await this.#engine.exec(text)
  }

  /** Counts the rows that a statement changes. */
  async changed(text: string, ...values: readonly unknown[]): Promise<number> {
    return (await this.#engine.query(text, [...values])).affectedRows ?? 0
  }

  /** Calls a function with each notification. */
  async listen(channel: string, told: () => void): Promise<void> {
    await this.#engine.listen(channel, told)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}
