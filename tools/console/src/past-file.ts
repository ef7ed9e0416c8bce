/**
 * Keeps the record of the last hour in a file of SQLite, so that it survives a restart of the page's server. The file
 * is open only while something is read or written: every 10 s at most, a hundred rows in each turn of the event
 * loop.
 */
import { closeSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { Mark } from './protocol.ts'

/** The figures of one service or pattern in one step. */
export interface KeptFigures {
  readonly step: number
  readonly id: string
  readonly key: string
  readonly figures: Float32Array
}

interface Statement {
  run(...values: readonly unknown[]): unknown
  all(...values: readonly unknown[]): unknown
  /** Only Bun's. */
  finalize?(): void
}
interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
}

const MODULES = [
  ['bun:sqlite', 'Database'],
  ['node:sqlite', 'DatabaseSync']
] as const
/** Rows that are read or written in one turn of the event loop. */
const BATCH = 100
/** The version of the tables. A file with another version is emptied. */
const VERSION = 1
/** Largest number of pages of 4 KiB in the file. */
const MAX_PAGES = 32_768

/** The class of the runtime's SQLite; `undefined`: the runtime has none. */
function runtimeDatabase(): (new (file: string) => Database) | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown }
  for (const [name, member] of MODULES) {
    const found = Object(getBuiltinModule?.(name))[member]
    if (found !== undefined) return found
  }
  return undefined
}

/** SQLite's codes for a file that is damaged, and for one that is no database. */
const [CORRUPT, NO_DATABASE] = [11, 26]
/** The beginning of each file of SQLite, and of one whose first page was lost. */
const BEGINNINGS = ['SQLite format 3\0', '\0'.repeat(16)]

function codeOf(error: unknown): number {
  // The code of Bun, and that of Node; their upper bits say more.
  const { errno, errcode = errno } = Object(error) as { readonly errno?: unknown; readonly errcode?: unknown }
  return Number(errcode) & 0xff
}

/** Whether this runtime has SQLite: Bun, and Node from 22.13 on. */
export function hasSqlite(): boolean {
  return runtimeDatabase() !== undefined
}

/** A file with the last hour. */
export class PastFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Whether an error says that the file is damaged. A file of another kind is not: it may be somebody's work. */
  isDamage(error: unknown): boolean {
    const code = codeOf(error)
    return code === CORRUPT || (code === NO_DATABASE && BEGINNINGS.includes(this.#beginning()))
  }

  #beginning(): string {
    const bytes = Buffer.alloc(16)
    const file = openSync(this.#path, 'r')
    try {
      return bytes.toString('latin1', 0, readSync(file, bytes))
    } finally {
      closeSync(file)
    }
  }

  /**
   * Moves a damaged file aside, where it replaces an earlier one; the next use begins a new file.
   * @returns its new path
   */
  moveAside(): string {
    const aside = `${this.#path}.damaged`
    renameSync(this.#path, aside)
    // The journal of an interrupted write belongs to the damaged file.
    rmSync(`${this.#path}-journal`, { force: true })
    return aside
  }

  /** Reads all figures after a step, the oldest first, in batches. */
  async *figures(after: number): AsyncGenerator<readonly KeptFigures[]> {
    const { database, end } = this.#open()
    try {
      const read = database.prepare(
        'SELECT step, id, key, figures FROM figures WHERE (step, id, key) > (?, ?, ?) ORDER BY step, id, key LIMIT ?'
      )
      try {
        let last = { step: after + 1, id: '', key: '' }
        for (;;) {
          const rows = read.all(last.step, last.id, last.key, BATCH) as readonly (typeof last & {
            readonly figures: Uint8Array
          })[]
          yield rows.map(({ figures, ...row }) => ({ ...row, figures: floatsOf(figures) }))
          const final = rows.at(-1)
          if (final === undefined || rows.length < BATCH) return
          last = final
          await setImmediate()
        }
      } finally {
        read.finalize?.()
      }
    } finally {
      end()
    }
  }

  /** Reads all marks. */
  marks(): readonly Mark[] {
    const { database, end } = this.#open()
    const read = database.prepare('SELECT at, service, what, version FROM marks ORDER BY at')
    try {
      return (read.all() as readonly Mark[]).map(({ at, service, what, version }) => ({
        at,
        service,
        what: what === 'version' ? what : 'process',
        version
      }))
    } finally {
      read.finalize?.()
      end()
    }
  }

  /** Adds figures, replaces all marks, and deletes the figures of steps up to `until`. */
  async write(figures: readonly KeptFigures[], marks: readonly Mark[], until: number): Promise<void> {
    const { database, end } = this.#open()
    const add = database.prepare('INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)')
    const mark = database.prepare('INSERT INTO marks VALUES (?, ?, ?, ?)')
    const clean = database.prepare(
      'DELETE FROM figures WHERE (step, id, key) IN (SELECT step, id, key FROM figures WHERE step <= ? ORDER BY step, id, key LIMIT ?) RETURNING step'
    )
    try {
      database.exec('BEGIN; DELETE FROM marks')
      for (const { at, service, what, version } of marks) mark.run(at, service, what, version)
      database.exec('COMMIT')
      // The file is emptied before it grows.
      while ((clean.all(until, BATCH) as readonly unknown[]).length > 0) await setImmediate()
      for (let from = 0; from < figures.length; from += BATCH) {
        database.exec('BEGIN')
        for (const { step, id, key, figures: all } of figures.slice(from, from + BATCH))
          add.run(step, id, key, new Uint8Array(all.buffer, all.byteOffset, all.byteLength))
        database.exec('COMMIT')
        await setImmediate()
      }
    } finally {
      for (const statement of [add, mark, clean]) statement.finalize?.()
      end()
    }
  }

  #open(): { readonly database: Database; readonly end: () => void } {
    const Native = runtimeDatabase()
    if (Native === undefined) throw new Error('This runtime has no SQLite')
    const database = new Native(this.#path)
    try {
      // After a loss of power the file may be lost: it is a record of an hour, and no row waits for the disk.
      database.exec(`PRAGMA synchronous = OFF; PRAGMA max_page_count = ${MAX_PAGES}`)
      this.#migrate(database)
    } catch (error) {
      database.close()
      throw error
    }
    return { database, end: () => void database.close() }
  }

  #migrate(database: Database): void {
    const read = database.prepare('PRAGMA user_version')
    const [row] = read.all() as readonly { readonly user_version: number }[]
    read.finalize?.()
    if (row?.user_version === VERSION) return
    database.exec(`
      BEGIN;
      DROP TABLE IF EXISTS figures;
      DROP TABLE IF EXISTS marks;
      CREATE TABLE figures (
        step INTEGER NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, figures BLOB NOT NULL,
        PRIMARY KEY (step, id, key)
      ) WITHOUT ROWID;
      CREATE TABLE marks (at INTEGER NOT NULL, service TEXT NOT NULL, what TEXT NOT NULL, version TEXT NOT NULL);
      PRAGMA user_version = ${VERSION};
      COMMIT`)
  }
}

/** The bytes of a row may begin anywhere in a larger buffer, so they are copied. */
function floatsOf(bytes: Uint8Array): Float32Array {
  const whole = bytes.slice(0, bytes.byteLength - (bytes.byteLength % 4))
  return new Float32Array(whole.buffer, whole.byteOffset, whole.byteLength / 4)
}
