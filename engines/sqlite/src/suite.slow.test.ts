/** The suite of the seam: SQLite runs in the process, so the real one is tested, in a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { NO_SERVER, storeTests } from '@elysia-microservices/engine-tests'
import { sqlite } from './sqlite.ts'

storeTests({
  name: 'sqlite',
  title: 'SQLite',
  stores: sqlite(':memory:').stores,
  hasServer: false,
  async start() {
    const folder = mkdtempSync(path.join(tmpdir(), 'sqlite-'))
    const store = sqlite(path.join(folder, 'events.db'))
    return { ...NO_SERVER, store: () => store, close: async () => rmSync(folder, { recursive: true }) }
  }
})
