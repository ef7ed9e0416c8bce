/**
 * Four processes handle what four clients publish, while processes and the server are killed, or a standby takes over:
 * every event is handled once, in the order of its key.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { drive, Forwarder, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { pause, until } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { migrateEvents, postgres } from './index.ts'

const PROGRAM = fileURLToPath(
  new URL(`./testing/torture-program${path.extname(import.meta.url)}`, import.meta.url)
)
const EVENTS = Number(process.env['TORTURE_EVENTS'] ?? 20_000)
const PROCESSES = 4
const PUBLISHERS = 4
const KEYS = 100
/** Events of one publisher that are on their way at the same time. */
const WINDOW = 64
const LONG = 600_000

interface Torture {
  readonly server: PostgresServer
  readonly services: ChildProcess[]
  readonly url: string
  start(): Promise<ChildProcess>
  /** The server is killed, and its standby takes over. */
  failOver(): Promise<void>
}

interface Conditions {
  /** Whether each commit waits for a standby. Default: there is none. */
  readonly isReplicated?: boolean
  /** Prepares the database. @returns ends what it has begun */
  prepare?(url: string): Promise<() => Promise<unknown>>
}

/** One load; `fault` is called again and again until all is published. @returns events that were handled in a second */
async function survive(
  faults: number,
  fault: (torture: Torture, n: number) => Promise<void>,
  { isReplicated = false, prepare }: Conditions = {}
): Promise<number> {
  const server = await PostgresServer.start()
  const database = await server.database()
  const standby = isReplicated ? await server.standby() : undefined
  const forwarder = await Forwarder.to(database)
  const { url } = forwarder
  const { sql, query, end } = drive(MAIN_DRIVER, url, 20)
  const failOver = async () => {
    await server.kill()
    await standby?.promote()
    forwarder.turn(standby?.address(new URL(database).pathname.slice(1)) ?? database)
  }
  const start = async () => {
    const service = spawn(process.execPath, [PROGRAM, url], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(service.stdout, 'data')
    return service
  }
  await migrateEvents(sql)
  await query('create table seen (n integer not null, key text not null, place bigserial)')
  if (isReplicated) {
    await query("alter system set synchronous_standby_names = '*'")
    await query('select pg_reload_conf()')
  }
  const done = await prepare?.(url)
  const services = await Promise.all(Array.from({ length: PROCESSES }, start))
  const clients = Array.from({ length: PUBLISHERS }, () =>
    connect({
      transport: { ...memory(), name: 'calls' },
      store: postgres({ sql }),
      timeout: 120_000,
      logger: { warn() {}, error() {} }
    })
  )
  try {
    const begun = performance.now()
    let published = 0
    const publishing = Promise.all(
      clients.map(async (client, publisher) => {
        const window = new Set<Promise<unknown>>()
        for (let n = publisher; n < EVENTS; n += PUBLISHERS) {
          // Each key has one publisher, so that its order is known.
          const key = `k${n % (KEYS * PUBLISHERS)}`
          const one = client.publish('torture', n, { id: String(n), key }).then(() => {
            published++
            window.delete(one)
          })
          window.add(one)
          if (window.size >= WINDOW) await Promise.race(window)
        }
        await Promise.all(window)
      })
    )
    for (let n = 1; n <= faults; n++) {
      const enough = (n * EVENTS) / (faults + 1)
      await until('Events are published', () => published >= enough, LONG)
      await fault({ server, services, url, start, failOver }, n)
    }
    await publishing
    const count = async () => Number((await query('select count(*) as count from seen'))[0]?.['count'])
    await until('All are handled', async () => (await count().catch(() => 0)) >= EVENTS, LONG)
    const rate = EVENTS / ((performance.now() - begun) / 1_000)
    const [counted] = await query(
      'select count(*)::text as rows, count(distinct n)::text as events from seen'
    )
    assert.deepEqual(counted, { rows: String(EVENTS), events: String(EVENTS) })
    const disordered = await query(
      'select * from (select n, lag(n) over (partition by key order by place) as before from seen) as s where before > n'
    )
    assert.deepEqual(disordered, [])
    return rate
  } finally {
    await Promise.all(clients.map((client) => client.close()))
    for (const service of services) service.kill('SIGKILL')
    await done?.()
    await end()
    forwarder.stop()
    await standby?.stop()
    await server.stop()
  }
}

async function killService({ services, start }: Torture, n: number): Promise<void> {
  const killed = services[n % PROCESSES] as ChildProcess
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  services[n % PROCESSES] = await start()
}

const nothing = async () => {}

async function killServer({ server }: Torture): Promise<void> {
  await server.kill()
  await pause(Math.random() * 300)
  await server.start()
}

describe('durable events over PostgreSQL are handled once and in the order of their keys', () => {
  it('under load, and while a transaction stays open', { timeout: LONG }, async (test) => {
    const plain = await survive(0, nothing)
    const read = await survive(0, nothing, {
      async prepare(url) {
        const reader = new pg.Client(url)
        reader.on('error', () => {})
        await reader.connect()
        // It has read and written: it may read old versions, and missing events may be its own.
        await reader.query('begin isolation level repeatable read; create table mine ()')
        return () => reader.end()
      }
    })
    test.diagnostic?.(`${Math.round(plain)} events a second, ${Math.round(read)} with an open transaction`)
  })

  it('while their processes are killed', { timeout: LONG }, async () => {
    await survive(50, killService)
  })

  it('while the server is killed', { timeout: LONG }, async () => {
    await survive(20, killServer)
  })

  it('while a standby takes over', { timeout: LONG }, async () => {
    await survive(1, ({ failOver }) => failOver(), { isReplicated: true })
  })
})
