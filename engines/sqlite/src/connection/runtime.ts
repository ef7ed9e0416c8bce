/** SQLite as the runtime has it: nothing is installed. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Driver, Row, Value } from '../driver.ts'

interface NativeStatement {
  run(...values: readonly Value[]): unknown
  all(...values: readonly Value[]): unknown
  get(...values: readonly Value[]): unknown
  /** Only Bun's: there a database with a statement that is left stays open, and locked. */
  finalize?(): void
}

interface NativeDatabase {
  exec(sql: string): unknown
  prepare(sql: string): NativeStatement
  close(): unknown
}

type NativeClass = new (file: string) => NativeDatabase

/** The modules of the runtimes, with the name of the class in each. Bun's own is the faster of the two that Bun has. */
const MODULES = { 'bun:sqlite': 'Database', 'node:sqlite': 'DatabaseSync' } as const

/** Returns the driver of one module; `undefined`: this runtime has no such module. */
export function driverOf(name: keyof typeof MODULES): Driver | undefined {
  const found = builtin(name)?.[MODULES[name]] as NativeClass | undefined
  return found && ((file) => adapted(new found(file)))
}

/**
 * The driver of this runtime.
 * @throws {OptionError} the runtime has no SQLite
 */
export const runtimeDriver: Driver = (file) => {
  const driver = driverOf('bun:sqlite') ?? driverOf('node:sqlite')
  if (driver === undefined) throw noSqlite(process.versions.node)
  return driver(file)
}

/** The error for a runtime without SQLite. */
export function noSqlite(version: string): OptionError {
  return new OptionError(
    'store',
    `sqlite() needs the SQLite of the runtime, which Node has from 22.13 on, and this is Node ${version}: use Bun or a newer Node, or keep events elsewhere (docs/durable-events.md lists the stores)`
  )
}

/** Asks for the module at run time, so that no bundler looks for one that only another runtime has. */
function builtin(name: string): Readonly<Record<string, unknown>> | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown }
  return getBuiltinModule?.(name) as Readonly<Record<string, unknown>> | undefined
}

function adapted(native: NativeDatabase): Database {
  const prepared: NativeStatement[] = []
  return {
    exec: (sql) => void native.exec(sql),
    prepare(sql) {
      const statement = native.prepare(sql)
      prepared.push(statement)
      return {
        run: (...values) => void statement.run(...values),
        all: (...values) => statement.all(...values) as readonly Row[],
        get: (...values) => (statement.get(...values) ?? undefined) as Row | undefined
      }
    },
    query(sql, ...values) {
      const statement = native.prepare(sql)
      try {
        // Node's rows have no prototype, and Bun's have one: users get the same in both.
        return (statement.all(...values) as readonly Row[]).map((row) => ({ ...row }))
      } finally {
        statement.finalize?.()
      }
    },
    close() {
      for (const statement of prepared) statement.finalize?.()
      native.close()
    }
  }
}
