/** The files that this process has open: all services and clients of the process share one. */
import { resolve } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Driver } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { EventFile } from './event-file.ts'
import { openFailure } from './failures.ts'
import { IN_MEMORY, openFile } from './open-file.ts'

interface Shared {
  readonly opening: Promise<EventFile>
  /** The options that decide how the file is kept, as text. */
  readonly keeping: string
  users: number
}

/** By the whole path. */
const OPEN = new Map<string, Shared>()

/** Files that are still open are no longer shared: a simulated life that follows has files of its own. */
export function forgetFiles(): void {
  OPEN.clear()
}

/** The use of a file by one service or one client. */
export interface SqliteConnection {
  readonly isConnected: boolean
  /** The name of the file. */
  readonly server: string
  readonly file: EventFile
  /** Closes the file if nobody else in this process uses it. */
  close(): Promise<void>
}

/** The file of one `sqlite()`. */
export class Files {
  readonly #driver: Driver
  readonly #options: CheckedOptions
  /** A database in memory is as old as the value that `sqlite()` returned. */
  #inMemory: Promise<EventFile> | undefined

  constructor(driver: Driver, options: CheckedOptions) {
    this.#driver = driver
    this.#options = options
  }

  /**
   * Uses the file, which is opened if it is not open in this process.
   * @throws {OptionError} the file cannot be used, or this process uses it with other options
   */
  async use(): Promise<SqliteConnection> {
    const { file: name } = this.#options
    if (name === IN_MEMORY) {
      this.#inMemory ??= this.#open(name)
      return connection(name, await this.#inMemory, () => {})
    }
    const path = resolve(name)
    const shared = this.#shared(path)
    shared.users++
    const leave = (file?: EventFile) => {
      if (--shared.users > 0) return
      if (OPEN.get(path) === shared) OPEN.delete(path)
      file?.close()
    }
    try {
      const file = await shared.opening
      return connection(name, file, () => leave(file))
    } catch (error) {
      leave()
      throw error
    }
  }

  #shared(path: string): Shared {
    const { maxAge, maxBytes, duplicateWindow, file } = this.#options
    const keeping = JSON.stringify({ maxAge, maxBytes, duplicateWindow })
    const known = OPEN.get(path)
    if (known === undefined) {
      const shared = { opening: this.#open(path), keeping, users: 0 }
      OPEN.set(path, shared)
      return shared
    }
    if (known.keeping === keeping) return known
    throw new OptionError(
      'options',
      `This process has '${file}' open with ${known.keeping}, and here with ${keeping}: make the store once, and give it to all services and clients`
    )
  }

  async #open(path: string): Promise<EventFile> {
    const database = await openFile(this.#driver, path)
    const { clock, file: name } = this.#options
    try {
      return new EventFile({ database, name, keeping: this.#options, clock })
    } catch (error) {
      database.close()
      throw openFailure(path, error)
    }
  }
}

function connection(server: string, file: EventFile, leave: () => void): SqliteConnection {
  let isConnected = true
  return {
    server,
    file,
    get isConnected() {
      return isConnected
    },
    async close() {
      if (!isConnected) return
      isConnected = false
      leave()
    }
  }
}
