/** A pool of `pg` that answers statements as a test says, so that nothing needs a server. */
import type { DatabaseSql, TransactionSql } from '../database/adapter.ts'
import type { Row } from '../database/database.ts'

/** A statement as the pool was asked for it. */
export interface Asked {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Returns the rows of the answer, or throws; `undefined`: there are none. */
export type Answer = (asked: Asked) => readonly Row[] | undefined | Promise<readonly Row[] | undefined>

export class FakePool {
  readonly asked: Asked[] = []
  answer: Answer
  readonly #listeners = new Set<() => void>()
  readonly #ended = new Set<() => void>()

  constructor(answer: Answer = () => undefined) {
    this.answer = answer
  }

  readonly #query = async (text: string, values: readonly unknown[] = []) => {
    const asked = { text, values }
    this.asked.push(asked)
    return { rows: [...((await this.answer(asked)) ?? [])] }
  }

  /** The pool. */
  get sql(): DatabaseSql {
    const query = this.#query
    const on = (name: string, listener: () => void) => {
      if (name === 'notification') this.#listeners.add(listener)
      if (name === 'end') this.#ended.add(listener)
    }
    const removeListener = (name: string, listener: () => void) => {
      if (name === 'notification') this.#listeners.delete(listener)
      if (name === 'end') this.#ended.delete(listener)
    }
    const client = { query, on, removeListener, release() {} }
    const connect = (connected: (error: undefined, given: object) => void) => connected(undefined, client)
    return { totalCount: 0, query, connect } as unknown as DatabaseSql
  }

  /** Tells each connection that listens of a notification. */
  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** How many connections listen. */
  get listening(): number {
    return this.#listeners.size
  }

  /** Loses all connections that listen. */
  lose(): void {
    for (const ended of this.#ended) ended()
  }

  /** A client that has begun a transaction. */
  get transaction(): TransactionSql {
    return { query: this.#query } as unknown as TransactionSql
  }

  /** The values of the statements with some text, one list for each statement. */
  valuesOf(text: string): (readonly unknown[])[] {
    return this.asked.filter((one) => one.text.includes(text)).map(({ values }) => values)
  }
}
