/**
 * A real PostgreSQL inside the process, compiled to WebAssembly. It has one session, and reads the process's clock. It is
 * opened before a world takes the place of the runtime's time, because loading it takes some.
 */
import { PGlite } from '@electric-sql/pglite'

/** The answer to a statement. */
export interface Result {
  readonly rows: Record<string, unknown>[]
}

export class Database {
  readonly #engine: PGlite
  /** Is called with the channel of each notification. */
  notified: (channel: string) => void = () => {}

  /** Runs a statement by the clock of the server, which does not jump with that of the world. */
  steadily: <Done>(act: () => Done) => Done = (act) => act()

  private constructor(engine: PGlite) {
    this.#engine = engine
    const run = engine.execProtocolRawSync.bind(engine)
    engine.execProtocolRawSync = (message) => this.steadily(() => withoutTimers(() => run(message)))
    engine.onNotification((channel) => this.notified(channel))
  }

  static async open(): Promise<Database> {
    return new Database(await PGlite.create())
  }

  /** Runs a statement; without values also several. @throws PostgreSQL's error */
  async query(text: string, values?: readonly unknown[]): Promise<Result> {
    if (values !== undefined) return (await this.#engine.query(text, [...values])) as Result
    const results = await this.#engine.exec(text)
    return (results.at(-1) ?? { rows: [] }) as Result
  }
}

/** PostgreSQL looks after deadlocks and statistics now and then, which one session does not need. */
function withoutTimers<Done>(act: () => Done): Done {
  const { setTimeout } = globalThis
  globalThis.setTimeout = (() => undefined) as never
  try {
    return act()
  } finally {
    globalThis.setTimeout = setTimeout
  }
}

let database: Database | undefined

/** The database of the process. @throws {Error} nobody has opened it */
export function theDatabase(): Database {
  if (database === undefined) throw new Error('The database was not opened before the world was entered')
  return database
}

export async function openDatabase(): Promise<void> {
  database ??= await Database.open()
}
