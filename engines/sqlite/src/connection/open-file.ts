/** Opens a file for this process alone. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Driver } from '../driver.ts'
import { migrate } from '../log/schema.ts'
import { isLocked, openFailure } from './failures.ts'

/** Milliseconds for which another process may still have the file: one that is being replaced ends soon. */
const PATIENCE = 3_000
const PAUSE = 50

/** The database that SQLite keeps in memory. */
export const IN_MEMORY = ':memory:'

/**
 * Opens a file, creates what is missing, and locks it until it is closed. The lock is the operating system's: it ends
 * with the process, however that ends.
 * @param patience milliseconds for which another process may still have it
 * @throws {OptionError} the file cannot be used
 * @throws {ConnectionError} the file cannot be opened at the moment
 */
export async function openFile(driver: Driver, file: string, patience = PATIENCE): Promise<Database> {
  const end = performance.now() + patience
  for (;;) {
    try {
      return openNow(driver, file)
    } catch (error) {
      if (!isLocked(error)) throw openFailure(file, error)
      if (performance.now() > end) throw ownedElsewhere(file)
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
  }
}

function openNow(driver: Driver, file: string): Database {
  if (file !== IN_MEMORY) mkdirSync(dirname(file), { recursive: true })
  const database = driver(file)
  try {
    // In this order: a journal that one process has alone needs no shared memory beside the file. The lock is taken by
    // the first transaction and then kept.
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma temp_store = memory')
    database.exec('begin immediate; commit')
    migrate(database, file)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function ownedElsewhere(file: string): OptionError {
  return new OptionError(
    'file',
    `'${file}' is in use: one process owns a file of sqlite(), and another one has it open. End that process, or publish by a call to it, or give this process a file of its own; several processes share events over an engine or a database (docs/production.md)`
  )
}
