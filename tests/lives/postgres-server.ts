/** A server of PostgreSQL inside the process, and connections to it that are lost. */
import { migrateEvents } from '@elysia-microservices/postgres'
import { type Database, type Result, theDatabase } from './database.ts'
import { Lane } from './lane.ts'
import type { World } from './world.ts'

type Answer = (error: unknown, result?: Result) => void
type Listener = (argument?: unknown) => void

/** A statement that has arrived at the server; without a text a greeting. */
interface Job {
  readonly session: Session
  readonly text: string | undefined
  readonly values: readonly unknown[] | undefined
  readonly answer: Answer
}

/** The connections of one client or service. */
interface Way {
  isAway: boolean
  /** Waits while it stands still; `undefined`: it does not. */
  held: (() => void)[] | undefined
  readonly sessions: Set<Session>
}

/** The statements that empty the database; `undefined`: it has no tables yet. */
let emptying: string | undefined

/** Empties the database for the next life. */
export async function emptyDatabase(): Promise<void> {
  const database = theDatabase()
  emptying ??= await newTables(database)
  // A life may have ended in the middle of a transaction.
  await database.query('rollback')
  await database.query(emptying)
}

/** Creates the tables. @returns the statements that empty them */
async function newTables(database: Database): Promise<string> {
  await migrateEvents({ totalCount: 0, ...clientOf(database) } as never)
  await database.query('listen elysia_microservices_events')
  const namesIn = async (view: string, name: string) => {
    const { rows } = await database.query(`select ${name} as name from ${view} where schemaname = $1::text`, [
      'elysia_microservices'
    ])
    return rows.map((row) => `elysia_microservices.${row['name']}`)
  }
  const tables = (await namesIn('pg_tables', 'tablename')).filter((table) => !table.endsWith('.migrations'))
  const sequences = await namesIn('pg_sequences', 'sequencename')
  return [
    `truncate ${tables}`,
    ...sequences.map((sequence) => `alter sequence ${sequence} restart`),
    ...['whole', 'stored', 'deleted'].map(
      (table) => `insert into elysia_microservices.${table} default values`
    )
  ].join(';')
}

/** The database as a client and a pool of `pg`, without any way between. */
function clientOf(database: Database) {
  const client = {
    query: (text: string, values?: unknown[]) => database.query(text, values),
    on() {},
    removeListener() {},
    release() {},
    connect: (connected: (error: undefined, one: object) => void) => connected(undefined, client)
  }
  return client
}

/** One session, as a client of `pg`. */
export class Session {
  /** Whether it has begun a transaction, and whether a statement of that has failed. */
  isOpen = false
  hasFailed = false
  isListening = false
  isEnded = false
  /** Whether it is there for one statement, which the server runs even if the connection is lost meanwhile. */
  readonly isForOne: boolean
  readonly #server: PostgresServer
  readonly #way: Way
  readonly #lane: Lane
  readonly #answers: Lane
  readonly #pending = new Set<(error: Error) => void>()
  readonly #listeners = new Map<string, Set<Listener>>()
  #committed: (() => void)[] = []

  constructor(server: PostgresServer, way: Way, world: World, isForOne: boolean) {
    this.isForOne = isForOne
    this.#server = server
    this.#way = way
    this.#lane = new Lane(world)
    this.#answers = new Lane(world)
    way.sessions.add(this)
  }

  /** Says what happens with the commit of the transaction, and never if it is rolled back. */
  committed(act: () => void): void {
    this.#committed.push(act)
  }

  query(text?: string, values?: readonly unknown[]): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.isEnded) return reject(new Error('Client has encountered a connection error'))
      this.#pending.add(reject)
      const answer: Answer = (error, result) => {
        if (this.isEnded) return
        this.#over(this.#answers, () => {
          this.#pending.delete(reject)
          if (result === undefined) reject(error)
          else resolve(result)
        })
      }
      const send = () => this.#server.arrive({ session: this, text, values, answer }, this.#way.isAway)
      this.#over(this.#lane, send)
    })
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return this
  }

  removeListener(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  notify(): void {
    this.#over(this.#answers, () => this.#emit('notification'))
  }

  /** Does something at the other end, when it has come there. */
  #over(lane: Lane, act: () => void): void {
    lane.add(() => {
      if (this.#way.held === undefined) act()
      else this.#way.held.push(() => !this.isEnded && act())
    }, this.#server.time)
  }

  /** The server has run one of its statements. */
  ran(text: string, error: unknown): void {
    if (error !== undefined) this.hasFailed = true
    if (/^begin\b/i.test(text)) this.isOpen = error === undefined
    else if (/^listen\b/i.test(text)) this.isListening = true
    else if (/^(commit|rollback)\b/i.test(text)) {
      this.isOpen = false
      const acts = this.#committed
      this.#committed = []
      // The commit of a transaction that has failed is a rollback.
      if (/^commit/i.test(text) && !this.hasFailed) for (const act of acts) act()
      this.hasFailed = false
    }
  }

  release(): void {
    this.end()
  }

  /** The connection is lost. */
  lose(): void {
    if (this.isEnded) return
    const error = new Error('Connection terminated unexpectedly')
    const pending = [...this.#pending]
    this.end()
    for (const reject of pending) reject(error)
    this.#emit('error', error)
    this.#emit('end')
  }

  end(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#committed = []
    this.#way.sessions.delete(this)
    this.#lane.close()
    this.#answers.close()
    this.#server.left(this)
  }

  #emit(event: string, argument?: unknown): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(argument)
  }
}

/** The server: it runs one statement after the other, and nothing beside a transaction. */
export class PostgresServer {
  readonly #world: World
  readonly #delay: number
  readonly #database = theDatabase()
  readonly #ways = new Map<string, Way>()
  #jobs: Job[] = []
  /** The session whose transaction is open. */
  #owner: Session | undefined
  #isBusy = false
  #isStill = false
  #isAway = false

  constructor(world: World, delay: number) {
    this.#world = world
    this.#delay = delay
    this.#database.steadily = (act) => world.steadily(act)
    this.#database.notified = () => {
      for (const { sessions } of this.#ways.values())
        for (const session of sessions) if (session.isListening) session.notify()
    }
  }

  /** Milliseconds that bytes need from one end to the other. */
  get time(): number {
    return this.#world.random.next() * this.#delay
  }

  /** Connections that are open. */
  get open(): number {
    return [...this.#ways.values()].reduce((sum, { sessions }) => sum + sessions.size, 0)
  }

  /** The number of events that have been stored for so many milliseconds, or longer. */
  async storedBefore(age: number): Promise<number> {
    const text =
      "select count(*) as count from elysia_microservices.event where published < clock_timestamp() - $1::text::integer * interval '1 millisecond'"
    const { rows } = await this.#database.query(text, [String(age)])
    return Number(rows[0]?.['count'])
  }

  /** A pool of `pg`, for one client or service. */
  pool(name: string) {
    const way = this.#ways.get(name) ?? { isAway: false, held: undefined, sessions: new Set() }
    this.#ways.set(name, way)
    const newSession = (isForOne: boolean) => new Session(this, way, this.#world, isForOne)
    return {
      totalCount: 0,
      options: { max: 5, host: '127.0.0.1', port: 5432 },
      query(text: string, values?: unknown[]): Promise<Result> {
        const session = newSession(true)
        return session.query(text, values).finally(() => session.end())
      },
      connect(connected: (error: unknown, session?: Session) => void): void {
        const session = newSession(false)
        session.query().then(
          () => connected(undefined, session),
          (error) => {
            session.end()
            connected(error)
          }
        )
      }
    }
  }

  /** @param isLost whether nothing comes through */
  arrive(job: Job, isLost: boolean): void {
    if (this.#isAway || isLost)
      return job.answer(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
    this.#jobs.push(job)
    void this.#next()
  }

  /** The connections of one client or service are lost, for a time. */
  lose(name: string, milliseconds: number): void {
    const way = this.#ways.get(name)
    if (way === undefined || way.isAway) return
    this.#cut(way)
    if (milliseconds === 0) return
    way.isAway = true
    this.#world.after(milliseconds, () => {
      way.isAway = false
    })
  }

  /** For a time nothing moves between one client or service and the server, and neither is told. */
  stall(name: string, milliseconds: number): void {
    const way = this.#ways.get(name)
    if (way === undefined || way.held !== undefined) return
    way.held = []
    this.#world.after(milliseconds, () => {
      const waiting = way.held ?? []
      way.held = undefined
      for (const act of waiting) act()
    })
  }

  /** The process of one service ends. */
  kill(name: string): void {
    const way = this.#ways.get(name)
    if (way === undefined) return
    way.isAway = true
    this.#cut(way)
    this.#ways.delete(name)
  }

  /** The process ends; what is left of it can no longer reach the server. */
  die(): void {
    for (const way of this.#ways.values()) {
      way.isAway = true
      this.#cut(way)
    }
    this.#ways.clear()
  }

  stop(): void {
    this.#isAway = true
    this.#jobs = []
    for (const way of this.#ways.values()) this.#cut(way)
  }

  start(): void {
    this.#isAway = false
  }

  suspend(): void {
    this.#isStill = true
  }

  resume(): void {
    this.#isStill = false
    void this.#next()
  }

  /** A session has ended: its transaction is rolled back. */
  left(session: Session): void {
    if (this.#owner === session) void this.#next()
  }

  #cut({ sessions }: Way): void {
    for (const session of [...sessions]) session.lose()
  }

  async #next(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      for (;;) {
        if (this.#owner?.isEnded) {
          await this.#database.query('rollback')
          this.#owner = undefined
        }
        const at = this.#isStill
          ? -1
          : this.#jobs.findIndex(({ session }) => this.#owner === undefined || this.#owner === session)
        if (at < 0) return
        await this.#run(this.#jobs.splice(at, 1)[0] as Job)
      }
    } finally {
      this.#isBusy = false
    }
  }

  async #run({ session, text, values, answer }: Job): Promise<void> {
    // Its transaction is rolled back, and this was a part of it.
    if (session.isEnded && !session.isForOne) return
    if (text === undefined) return answer(undefined, { rows: [] })
    let error: unknown
    let result: Result | undefined
    try {
      result = /^listen\b/i.test(text) ? { rows: [] } : await this.#database.query(text, values)
    } catch (failure) {
      error = failure
    }
    session.ran(text, error)
    this.#owner = session.isOpen ? session : undefined
    answer(error, result)
  }
}
