/** Processes of transactional handlers are killed again and again: no effect is lost, and none happens twice. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { after, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { drive, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { isOnPush, until } from '@elysia-microservices/test-support'
import { Tables } from './connection/tables.ts'
import { migrateEvents } from './index.ts'
import { STEPS } from './testing/transactional-program.ts'

const PROGRAM = fileURLToPath(
  new URL(`./testing/transactional-program${path.extname(import.meta.url)}`, import.meta.url)
)
/** On a push processes are killed three times at each step. */
const KILLS = isOnPush ? 12 : 1_000
/** Processes at the same time. */
const LANES = 3
/** Most events that a process handles before it is killed. */
const MOST = 12

const server = await PostgresServer.start()
after(() => server.stop())

it(`what transactional handlers write happens once for each event, though ${KILLS} of their processes are killed`, {
  timeout: KILLS * 10_000
}, async () => {
  const url = await server.database()
  const { sql, query, end } = drive(MAIN_DRIVER, url, 2)
  after(end)
  await migrateEvents(sql)
  await query('create table effect (n integer not null)')
  const tables = new Tables(databaseOf(sql), 'elysia_microservices')
  const count = KILLS * MOST
  const event = { pattern: 'e', key: undefined, headers: undefined, body: '', due: undefined }
  for (let first = 0; first < count; first += 1_000)
    await tables.store(
      Array.from({ length: Math.min(1_000, count - first) }, (_, at) => ({
        ...event,
        id: String(first + at),
        body: `{"data":${first + at}}`
      })),
      1_000
    )

  const start = (...step: string[]) => {
    const child = spawn(process.execPath, [PROGRAM, url, ...step], {
      stdio: ['ignore', 'inherit', 'inherit']
    })
    after(() => child.kill('SIGKILL'))
    return child
  }
  let kill = 0
  const live = async () => {
    while (kill < KILLS) {
      const nth = 1 + ((kill * 7) % MOST)
      const [, signal] = await once(start(STEPS[kill++ % STEPS.length] as string, String(nth)), 'exit')
      assert.equal(signal, 'SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: LANES }, live))
  start()
  const counted = async () =>
    (await query('select count(*)::text as rows, count(distinct n)::text as events from effect'))[0]
  await until('All have happened', async () => (await counted())?.['events'] === String(count))
  await until(
    'All are done',
    async () => (await query('select from elysia_microservices.batch')).length === 0
  )
  assert.deepEqual(await counted(), { rows: String(count), events: String(count) })
})
