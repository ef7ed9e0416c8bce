/** A transaction that stays open between a test's steps, and knows which events its commit would publish. */
import type pg from 'pg'
import { outbox } from '../outbox.ts'

/** An event as the tests write it. */
export interface Told {
  readonly id: string
  readonly key: string | undefined
}

export class OpenTransaction {
  readonly #client: pg.PoolClient
  /** Written since each savepoint: the first list is of the transaction itself. */
  readonly #written: Told[][] = [[]]
  /** The statement that runs: it can wait for the lock of a key. */
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

  /** Whether a statement of it still waits, so that a single thread of a program could not go on with it. */
  get isWaiting(): boolean {
    return this.#underWay > 0
  }

  /** Settles when its statements have. */
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

  /** Takes back what was written since the last savepoint, or keeps it. Without one nothing happens. */
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

  /** Its number; it has one from its first event on. */
  async number(): Promise<string> {
    await this.#last
    const { rows } = await this.#client.query<{ number: string }>(
      'select pg_current_xact_id()::text as number'
    )
    return rows[0]!.number
  }

  /** @returns what is committed: nothing if a statement has failed before, as after a deadlock */
  async end(how: 'commit' | 'rollback' | 'prepare'): Promise<readonly Told[]> {
    await this.#last
    if (this.#hasFailed || how === 'rollback') {
      await this.#client.query('rollback')
      this.#client.release()
      return []
    }
    if (how === 'prepare') {
      const name = `t${crypto.randomUUID()}`
      // Refused, and rolled back, if a relay was to be woken: PostgreSQL does not prepare what notifies.
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
