import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { drivers } from '../testing/open-log.ts'
import { openFile } from './open-file.ts'
import { noSqlite, runtimeDriver } from './runtime.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'sqlite-'))
after(() => rmSync(folder, { recursive: true }))

const OWNER = fileURLToPath(
  new URL(`../testing/owner-program${path.extname(import.meta.url)}`, import.meta.url)
)

describe('a file', () => {
  for (const [name, driver] of Object.entries(drivers))
    it(`is created with its folder, and opened again, by ${name}`, async () => {
      const file = path.join(folder, name.replace(':', '-'), 'events.db')
      for (let time = 0; time < 2; time++) {
        const database = await openFile(driver, file)
        assert.deepEqual(database.prepare('select last from whole').get()?.['last'], 0)
        database.close()
      }
      assert.ok(existsSync(file))
    })

  it('of another program, or none of SQLite, is left alone', async () => {
    const foreign = path.join(folder, 'foreign.db')
    const database = runtimeDriver(foreign)
    database.exec('create table users (id integer)')
    database.close()
    await assert.rejects(openFile(runtimeDriver, foreign), {
      name: 'OptionError',
      message: /foreign\.db' has tables of another program: sqlite\(\) wants a file of its own/
    })
    const text = path.join(folder, 'text.db')
    writeFileSync(text, 'no database at all, and long enough to be one'.repeat(100))
    await assert.rejects(openFile(runtimeDriver, text), {
      name: 'OptionError',
      message: /text\.db' is no SQLite file: give sqlite\(\) another name/
    })
  })

  it('of a newer version is left alone', async () => {
    const file = path.join(folder, 'newer.db')
    const database = await openFile(runtimeDriver, file)
    database.exec('pragma user_version = 99')
    database.close()
    await assert.rejects(
      openFile(runtimeDriver, file),
      /newer\.db' was written by a newer version.*update the package/
    )
  })

  it('that cannot be opened says why', async () => {
    await assert.rejects(openFile(runtimeDriver, folder), {
      name: 'ConnectionError',
      message: /SQLite cannot open '.*': unable to open database file/
    })
  })

  it('has one owner: another process is told, and gets it when the owner was killed', async () => {
    const file = path.join(folder, 'owned.db')
    const owner = spawn(process.execPath, [OWNER, file], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await once(owner.stdout, 'data')
      await assert.rejects(openFile(runtimeDriver, file, 0), {
        name: 'OptionError',
        message:
          /owned\.db' is in use: one process owns a file of sqlite\(\).*End that process.*docs\/production\.md/
      })
      owner.kill('SIGKILL')
      const database = await openFile(runtimeDriver, file, 60_000)
      assert.equal(database.prepare('select last from whole').get()?.['last'], 1)
      database.close()
    } finally {
      owner.kill('SIGKILL')
    }
  })
})

it('a runtime without SQLite is told what it needs', () => {
  assert.match(
    noSqlite('20.19.0').message,
    /Node has from 22\.13 on, and this is Node 20\.19\.0: use Bun or a newer Node/
  )
})
