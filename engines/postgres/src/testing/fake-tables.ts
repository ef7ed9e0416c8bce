/** The tables of a schema as a test wants them, so that nothing needs a server. */
import type { Logger } from '@elysia-microservices/transport/kit'
import { ManualClock } from '@elysia-microservices/transport/kit'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { type Deleted, type GroupFigures, NOTHING, type Pruned } from '../connection/tables.ts'
import type { Looks, Settling, TakenRow, Turn, Wanted } from '../connection/turn.ts'
import { Turns } from '../durable/turns.ts'
import { type CheckedOptions, type PostgresOptions, postgresOptions } from '../options/options.ts'

/** A turn as the tables were asked for it. */
export interface AskedTurn {
  readonly owner: string
  readonly settled: readonly Settling[]
  readonly known: readonly string[]
  readonly wanted: readonly Wanted[]
  readonly willSleep: boolean
  readonly grace: number
  readonly looks: Looks
}

type Answer = Partial<Turn> | Error | Promise<Partial<Turn>>

/** Notes what it is asked, and answers each turn with the next of `answers`; without one with nothing. */
export class FakeTables {
  readonly schema = 'shop'
  readonly turns: AskedTurn[] = []
  readonly answers: Answer[] = []
  readonly joins: unknown[][] = []
  joined = { id: 1, ordered: false, skipped: 0 }
  readonly askedFigures: (readonly number[])[] = []
  figuresFail = false
  lag: GroupFigures[] = []
  /** How many calls of `prune` find more. */
  toPrune = 0
  /** Events that the next call of `prune` says groups have missed. */
  readonly missed: Pruned['missed'][number][] = []
  /** How much was deleted before each call, as it was told. */
  readonly prunedBehind: Deleted[] = []
  readonly left: string[] = []
  /** Why listening fails; `undefined`: it does not. */
  deafness: Error | undefined
  readonly channels: string[] = []
  unlistened = 0
  notify = () => {}
  loseListener = () => {}
  readonly database = {
    listen: async (channel: string, wake: () => void, lost: () => void) => {
      this.channels.push(channel)
      if (this.deafness !== undefined) throw this.deafness
      this.notify = wake
      this.loseListener = lost
      return async () => void this.unlistened++
    }
  }

  async turn(
    owner: string,
    _lease: number,
    settled: readonly Settling[],
    known: readonly string[],
    wanted: readonly Wanted[],
    willSleep: boolean,
    grace: number,
    looks: Looks
  ): Promise<Turn> {
    this.turns.push({ owner, settled, known, wanted, willSleep, grace, looks })
    const answer = await (this.answers.shift() ?? {})
    if (answer instanceof Error) throw answer
    return { lost: [], taken: [], until: null, next: null, bounds: null, ...answer }
  }

  async join(...given: unknown[]): Promise<typeof this.joined> {
    this.joins.push(given)
    return this.joined
  }

  async figures(ids: readonly number[]): Promise<readonly GroupFigures[]> {
    this.askedFigures.push(ids)
    if (this.figuresFail) throw new Error('no figures')
    return this.lag
  }

  async prune(_maxAge: number, _window: number, behind: Deleted = NOTHING): Promise<Pruned> {
    const forgotten = this.prunedBehind.push(behind)
    return { more: this.toPrune-- > 0, deleted: String(forgotten), forgotten, missed: this.missed.splice(0) }
  }

  get pruned(): number {
    return this.prunedBehind.length
  }

  async leave(owner: string): Promise<void> {
    this.left.push(owner)
  }
}

/** The turns of a process over such tables. */
export class OverTables {
  readonly tables = new FakeTables()
  readonly clock = new ManualClock(1_000_000)
  readonly lines: string[] = []
  readonly logger: Logger = {
    error: (line) => void this.lines.push(line),
    warn: (line) => void this.lines.push(line)
  }
  readonly options: CheckedOptions
  readonly turns: Turns
  readonly failures: unknown[] = []
  isConnected = true
  readonly connection = this.#connection()

  constructor(options: Partial<PostgresOptions> = {}) {
    this.options = checkedOptions(options)
    this.turns = new Turns(this.options, this.logger, this.clock)
    this.turns.attach(this.connection)
  }

  #connection(): PostgresConnection {
    const over = this
    const fake = {
      tables: this.tables,
      reach: { failed: (error: unknown) => void this.failures.push(error) },
      get isConnected() {
        return over.isConnected
      }
    }
    return fake as unknown as PostgresConnection
  }

  /** Lets everything run that is ready. */
  settled(): Promise<void> {
    return this.clock.advance(0)
  }

  /** The settled events, turn by turn. */
  get written(): readonly Settling[] {
    return this.tables.turns.flatMap(({ settled }) => settled)
  }
}

/** The checked options of `postgres()`, over a `sql` that is never asked. */
export function checkedOptions(options: Partial<PostgresOptions> = {}): CheckedOptions {
  return postgresOptions({ sql: (() => {}) as never, ...options })
}

/** A row as a turn gives it; what is not given is made up. */
export function takenRow(given: Partial<TakenRow> = {}): TakenRow {
  const place = { group: 1, batch: '7', position: '1', letter: '0', attempt: 1 }
  const content = { published: 0, pattern: 'p', id: 'a', key: null, headers: null, body: '{"data":1}' }
  return { ...place, ...content, ...given }
}
