import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Driver } from '../driver.ts'
import { EventLog } from '../log/event-log.ts'
import { sqliteOptions } from '../options/options.ts'
import { drivers, newEvent } from '../testing/open-log.ts'
import { Files } from './files.ts'
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

  for (const [name, driver] of Object.entries(drivers)) {
    it(`that is damaged says so, wherever that is, by ${name}`, async () => {
      const sound = path.join(folder, `sound-${name.slice(0, 3)}.db`)
      const database = await openFile(driver, sound)
      const log = new EventLog(database, { maxAge: 0, maxBytes: 0, duplicateWindow: 1_000 })
      log.append(
        Array.from({ length: 40 }, () => newEvent({ body: 'x'.repeat(1_000) })),
        Date.now()
      )
      database.close()
      const bytes = readFileSync(sound)
      const page = Buffer.alloc(4_096, 0xa5)
      const damaged = (at: number) => Buffer.concat([bytes.subarray(0, at), page, bytes.subarray(at + 4_096)])
      const file = path.join(folder, `damaged-${name.slice(0, 3)}.db`)
      const opened = () => new Files(driver, sqliteOptions(file, {})).use()
      for (const content of [
        bytes.subarray(0, 600),
        bytes.subarray(0, 8_192),
        damaged(100),
        damaged(4_096)
      ]) {
        writeFileSync(file, content)
        await assert.rejects(opened, {
          name: 'OptionError',
          message: /damaged-.*\.db' is damaged \(.*\): restore it from a backup, or move it and/
        })
      }
      for (const content of [bytes.subarray(0, 10), damaged(0)]) {
        writeFileSync(file, content)
        await assert.rejects(opened, { name: 'OptionError', message: /is no SQLite file/ })
      }
      // Nothing of it stays in use.
      writeFileSync(file, bytes)
      await (await opened()).close()
    })

    it(`that is a folder cannot be opened, by ${name}`, async () => {
      await assert.rejects(openFile(driver, folder), {
        name: 'ConnectionError',
        message: /SQLite cannot open '.*': unable to open database file; it must be the name of a file/
      })
    })
  }

  for (const [code, name, message] of [
    [8, 'OptionError', /cannot be written by this process \(because\): allow it to write/],
    [1_032, 'OptionError', /cannot be written by this process/],
    [13, 'ConnectionError', /SQLite cannot open '.*': because; make room on its disk/],
    [778, 'ConnectionError', /SQLite cannot open '.*': because; check that this process may write it/],
    [1, 'ConnectionError', /SQLite cannot open '.*': because$/]
  ] as const)
    it(`that cannot be used for the reason ${code} of SQLite says what to do, whatever the runtime is`, async () => {
      for (const field of ['errno', 'errcode']) {
        const driver = () => {
          throw Object.assign(new Error('because'), { [field]: code })
        }
        await assert.rejects(openFile(driver, path.join(folder, 'any.db')), { name, message })
      }
    })

  it('is closed when its last user has closed it, each of them once', async () => {
    const files = new Files(runtimeDriver, sqliteOptions(path.join(folder, 'users.db'), {}))
    const [one, other] = [await files.use(), await files.use()]
    await one.close()
    await one.close()
    assert.deepEqual([one.isConnected, other.isConnected], [false, true])
    assert.deepEqual(other.file.query('select 1 as n'), [{ n: 1 }])
    await other.close()
    assert.throws(() => other.file.query('select 1 as n'))
  })

  it('that could not be used is closed, and the next one that wants it opens it', async () => {
    const open = { now: 0, ever: 0 }
    const driver: Driver = (name) => {
      const database = runtimeDriver(name)
      const isFirst = open.ever++ === 0
      open.now++
      return {
        exec: (sql) => database.exec(sql),
        query: (sql, ...values) => database.query(sql, ...values),
        prepare(sql) {
          if (isFirst && sql.startsWith('insert into event')) throw new Error('no')
          return database.prepare(sql)
        },
        close() {
          open.now--
          database.close()
        }
      }
    }
    const files = new Files(driver, sqliteOptions(path.join(folder, 'again.db'), {}))
    const [one, other] = await Promise.allSettled([files.use(), files.use()])
    assert.deepEqual([one.status, other.status, open], ['rejected', 'rejected', { now: 0, ever: 1 }])
    const uses = [await files.use(), await files.use()]
    assert.deepEqual(open, { now: 1, ever: 2 })
    for (const use of uses) await use.close()
    assert.equal(open.now, 0)
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
