/**
 * Four processes, whose clocks jump by up to half an hour and which are killed, handle events that waited for their time
 * and one that recurs each second: each comes once, and none before its time.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nats } from '@elysia-microservices/nats'
import { drive, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { migrateEvents, postgres } from '@elysia-microservices/postgres'
import { redis } from '@elysia-microservices/redis'
import { isMissing, pause, RedisServerProcess, redisMissing, until } from '@elysia-microservices/test-support'
import type { AnyStore } from '@elysia-microservices/transport'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const PROGRAM = fileURLToPath(new URL(`./later-program${path.extname(import.meta.url)}`, import.meta.url))
const PROCESSES = 4
const KILLS = 20
const EVENTS = 1_000
/** Milliseconds within which the events come. */
const SPREAD = 12_000
const LONG = 120_000

interface Tried {
  readonly name: string
  readonly missing?: string | undefined
  open(): Promise<{ readonly address: string; readonly store: AnyStore; close(): Promise<unknown> }>
}

const TRIED: readonly Tried[] = [
  {
    name: 'nats',
    missing: natsMissing(),
    async open() {
      const folder = await mkdtemp(path.join(tmpdir(), 'later-'))
      after(() => rm(folder, { recursive: true }))
      const server = await NatsServerProcess.start('-js', '-sd', folder)
      return { address: server.url, store: nats({ url: server.url }), close: () => server.stop() }
    }
  },
  {
    name: 'redis',
    missing: redisMissing(),
    async open() {
      const server = await RedisServerProcess.start()
      return { address: server.url, store: redis({ url: server.url }), close: () => server.stop() }
    }
  },
  {
    name: 'postgres',
    async open() {
      const server = await PostgresServer.start()
      const address = await server.database()
      const { sql, end } = drive(MAIN_DRIVER, address)
      await migrateEvents(sql)
      return { address, store: postgres({ sql }), close: () => end().then(() => server.stop()) }
    }
  }
]

for (const { name, missing, open } of TRIED)
  if (!isMissing(`events of the future over ${name}, with kills`, missing))
    it(`events that wait, and that recur, come once and not before their time over ${name}, although clocks jump and processes are killed`, {
      timeout: LONG
    }, async () => {
      const { address, store, close } = await open()
      const seen: (readonly [pattern: string, id: string, position: string, at: string])[] = []
      const start = async () => {
        const child = spawn(process.execPath, [PROGRAM, name, address], {
          stdio: ['ignore', 'pipe', 'inherit']
        })
        const lines = createInterface({ input: child.stdout })
        const isReady = once(lines, 'line')
        lines.on('line', (line) => {
          if (line.startsWith('[')) seen.push(JSON.parse(line))
        })
        await isReady
        return child
      }
      const processes = await Promise.all(Array.from({ length: PROCESSES }, start))
      const logger = { warn() {}, error() {} }
      const client = connect({ transport: { ...memory(), name: 'calls' }, store, logger, timeout: 60_000 })
      const planned = new Map<string, number>()
      try {
        await Promise.all(
          Array.from({ length: EVENTS }, async (_, n) => {
            const wait = Math.random() * SPREAD
            const at = Date.now() + wait
            planned.set(`id-${n}`, at)
            await client.publish('later', n, {
              id: `id-${n}`,
              ...(n % 2 === 0 ? { at: new Date(Math.ceil(at)) } : { delay: wait })
            })
          })
        )
        for (let n = 0; n < KILLS; n++) {
          await pause(SPREAD / KILLS)
          const killed = processes[n % PROCESSES] as ChildProcess
          killed.kill('SIGKILL')
          await once(killed, 'exit')
          processes[n % PROCESSES] = await start()
        }
        const came = () => new Set(seen.filter(([pattern]) => pattern === 'later').map(([, id]) => id)).size
        await until('All have come', () => came() === EVENTS, LONG)
        const ticks = () => new Set(seen.filter(([pattern]) => pattern === 'tick').map(([, id]) => id)).size
        const before = ticks()
        await until('It recurs still', () => ticks() > before + 1, LONG)
        // A process that was killed may have handled an event that another one handles again, at the same position.
        const places = new Map<string, Set<string>>()
        for (const [pattern, id, position, at] of seen) {
          places.set(id, (places.get(id) ?? new Set()).add(position))
          const due =
            pattern === 'later' ? (planned.get(id) as number) : Date.parse(id.slice(id.indexOf('@') + 1))
          assert.ok(Date.parse(at) >= Math.floor(due), `${id} came at ${at}`)
        }
        const twice = [...places].filter(([, at]) => at.size > 1)
        assert.deepEqual(twice, [])
        console.log(`${name}: ${came()} events, ${ticks()} times, ${KILLS} kills`)
      } finally {
        await client.close()
        for (const one of processes) one.kill('SIGKILL')
        await close()
      }
    })
