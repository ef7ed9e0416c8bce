/** A transaction that stays open between the steps of a test, and records which events its commit would publish. */
import type pg from 'pg'
import { outbox } from '../outbox.ts'

/** An event as the tests write it. */
export interface Told {
  readonly id: string
  readonly key: string | undefined
}

export class OpenTransaction {
  readonly #client: pg.PoolClient
  /** The events that were written since each savepoint; the first list belongs to the transaction itself. */
  readonly #written: Told[][] = [[]]
  /** The current statement, which may be waiting for the lock of a key. */
  #last: Promise<unknown> = Promise.resolve()
  #underWay = 0
  #hasFailed = false

  private constructor(client: pg.PoolClient) {
    this.#client = client
  }

  static async begin(pool: pg.Pool): Promise<OpenTransaction> {
    const client = await pool.connect()
    await client.query('begin')
    return new OpenTransaction(client)
  }

  /**
   * Whether a statement of the transaction is still waiting. A program with one thread could not go on with such a
   * transaction.
   */
  get isWaiting(): boolean {
    return this.#underWay > 0
  }

  /** Settles when all statements of the transaction have ended. */
  get idle(): Promise<unknown> {
    return this.#last
  }

  publish(event: Told): Promise<unknown> {
    return this.#run(async () => {
      await outbox(this.#client).publish('told', null, {
        id: event.id,
        ...(event.key === undefined ? {} : { key: event.key })
      })
      this.#written.at(-1)!.push(event)
    })
  }

  savepoint(): Promise<unknown> {
    return this.#run(async () => {
      await this.#client.query(`savepoint s${this.#written.length}`)
      this.#written.push([])
    })
  }

  /**
   * Ends the last savepoint: keeps what was written since then, or rolls it back. Does nothing if there is no
   * savepoint.
   */
  endSavepoint(isKept: boolean): Promise<unknown> {
    return this.#run(async () => {
      const depth = this.#written.length - 1
      if (depth === 0) return
      await this.#client.query(
        isKept
          ? `release savepoint s${depth}`
          : `rollback to savepoint s${depth}; release savepoint s${depth}`
      )
      const ended = this.#written.pop()!
      if (isKept) this.#written.at(-1)!.push(...ended)
    })
  }

  /** The number of the transaction; it has one after its first event. */
  async number(): Promise<string> {
    await this.#last
    const { rows } = await this.#client.query<{ number: string }>(
      'select pg_current_xact_id()::text as number'
    )
    return rows[0]!.number
  }

  /** Ends the transaction. @returns the committed events: none if a statement has failed before, as after a deadlock */
  async end(how: 'commit' | 'rollback' | 'prepare'): Promise<readonly Told[]> {
    await this.#last
    if (this.#hasFailed || how === 'rollback') {
      await this.#client.query('rollback')
      this.#client.release()
      return []
    }
    if (how === 'prepare') {
      const name = `t${crypto.randomUUID()}`
      // PostgreSQL refuses to prepare a transaction that has used `notify` to wake a relay, and rolls it back.
      const isPrepared = await this.#client.query(`prepare transaction '${name}'`).then(
        () => true,
        () => false
      )
      await this.#client.query(isPrepared ? `commit prepared '${name}'` : 'rollback')
      if (!isPrepared) this.#written.length = 0
    } else await this.#client.query('commit')
    this.#client.release()
    return this.#written.flat()
  }

  #run(step: () => Promise<void>): Promise<unknown> {
    this.#underWay++
    this.#last = this.#last
      .then(() => (this.#hasFailed ? undefined : step()))
      .catch(() => {
        this.#hasFailed = true
      })
      .finally(() => this.#underWay--)
    return this.#last
  }
}
