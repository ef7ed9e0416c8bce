/**
 * A real PostgreSQL inside the process, compiled to WebAssembly. It has one session, and reads the process's clock. It is
 * opened before a world takes the place of the runtime's time, because loading it takes some.
 */
import { PGlite, parse, protocol } from '@electric-sql/pglite'

/** The answer to a statement. */
export interface Result {
  readonly rows: Record<string, unknown>[]
}

type Told = Parameters<Parameters<InstanceType<typeof protocol.Parser>['parse']>[1]>[0]

/** A statement that is parsed once, because that takes as long as running it. */
interface Prepared {
  readonly name: string
  /** The types of its values. */
  readonly types: readonly number[]
  /** Describes the columns of its rows. */
  readonly columns: readonly Told[]
}

export class Database {
  readonly #engine: PGlite
  readonly #prepared = new Map<string, Prepared>()
  /** Is called with the channel of each notification. */
  notified: (channel: string) => void = () => {}

  /** Runs a statement by the clock of the server, which does not jump with that of the world. */
  steadily: <Done>(act: () => Done) => Done = (act) => act()

  private constructor(engine: PGlite) {
    this.#engine = engine
  }

  static async open(): Promise<Database> {
    const database = new Database(await PGlite.create())
    await database.query(
      'set plan_cache_mode = force_generic_plan; set jit = off; set synchronous_commit = off'
    )
    return database
  }

  /** Runs a statement; without values also several. @throws PostgreSQL's error */
  async query(text: string, values?: readonly unknown[]): Promise<Result> {
    const { parsers } = this.#engine
    const { serialize } = protocol
    if (values === undefined)
      return parse.parseResults(this.#send(serialize.query(text)), parsers).at(-1) as Result
    const { name, types, columns } = this.#prepared.get(text) ?? this.#prepare(text)
    const bound = serialize.bind({
      statement: name,
      values: values.map((value, at) => this.#serialized(value, types[at] as number))
    })
    const told = this.#send(bound, serialize.execute(), serialize.sync())
    return parse.parseResults([...columns, ...told], parsers)[0] as Result
  }

  #prepare(text: string): Prepared {
    const { serialize } = protocol
    const name = `s${this.#prepared.size}`
    const told = this.#send(
      serialize.parse({ name, text }),
      serialize.describe({ type: 'S', name }),
      serialize.sync()
    )
    const columns = told.filter((one) => one.name === 'rowDescription')
    const prepared = { name, types: parse.parseDescribeStatementResults(told), columns }
    this.#prepared.set(text, prepared)
    return prepared
  }

  #serialized(value: unknown, type: number): string | null {
    if (value === null || value === undefined) return null
    return this.#engine.serializers[type]?.(value) ?? String(value)
  }

  /** Sends messages, and reads what the server answers to them. @throws PostgreSQL's error */
  #send(...parts: readonly Uint8Array[]): Told[] {
    const answer = this.steadily(() =>
      withoutTimers(() => this.#engine.execProtocolRawSync(Buffer.concat(parts)))
    )
    const told: Told[] = []
    let failure: unknown
    new protocol.Parser().parse(answer, (one) => {
      if (one.name === 'error') failure ??= one
      else if (one.name === 'notification')
        this.notified((one as { readonly channel?: string }).channel ?? '')
      else told.push(one)
    })
    if (failure !== undefined) throw failure
    return told
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
