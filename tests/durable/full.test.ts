/** Durable events when the storage of a NATS server, or of an account, is full. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { NotStoredError, RetryLater } from '@elysia-microservices/transport'
import { connect as connectBare } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

/** The size of the storage in bytes. */
const STORAGE = 512 * 1024
/** For requests of a bare connection, whose own limit is a second. */
const PATIENT = { timeout: PATIENCE }
const USER = { username: 'a', password: 'a' }
const ACCOUNT = `
  accounts {
    A { users: [{ user: a, password: a }], jetstream: { max_file: ${STORAGE}, max_mem: 0 } }
    SYS { users: [{ user: s, password: s }] }
  }
  system_account: SYS`

if (!isMissing('durable events in a full storage', natsMissing())) {
  for (const { title, limit, configuration, advice } of [
    {
      title: 'the storage of its NATS server',
      limit: `max_file_store: ${STORAGE}`,
      configuration: '',
      advice: /'insufficient.* resources.*the storage of the NATS server is full: raise max_file_store/
    },
    {
      title: 'the storage of its account',
      limit: '',
      configuration: ACCOUNT,
      advice: /exceeded.*the storage of the account is full: raise max_file/
    }
  ]) {
    describe(`where ${title} is full`, () => {
      let server: NatsServerProcess
      let folder: string
      const options = configuration === '' ? {} : USER
      const transport = () => nats({ url: server.url, ...options, durable: { ackWait: 1_000 } })

      before(async () => {
        folder = await mkdtemp(join(tmpdir(), 'full-'))
        const file = join(folder, 'nats.conf')
        const store = join(folder, 'store')
        await writeFile(file, `jetstream { store_dir: "${store}", ${limit} }${configuration}`)
        server = await NatsServerProcess.start('-c', file)
      })
      after(async () => {
        await server.stop()
        await rm(folder, { recursive: true })
      })

      it('an event is stored or refused with advice, a failed event waits for room, and nothing is lost', async () => {
        const { logger, lines } = new Log()
        const client = connect({ transport: transport(), logger })
        const seen = new Set<unknown>()
        let isFilling = true
        const service = microservice({ name: 'full', transport: transport(), logger }).event(
          'full.test',
          ({ data }: Message<{ n: number }>) => {
            if (data.n === 0 && isFilling) throw new RetryLater(100)
            if (data.n === 0) throw new Error('poisoned')
            seen.add(data.n)
          },
          { durable: { start: 'all', retry: { attempts: 2, minDelay: 100, maxDelay: 200 } } }
        )
        await service.listen()
        const stored: number[] = []
        const refused: NotStoredError[] = []
        const text = 'x'.repeat(1_000)
        const bare = await connectBare({ servers: server.url, user: 'a', pass: 'a' })
        // A message that fills the storage and belongs to no group, so that it can be deleted without touching the
        // service's events.
        await bare.request(
          '$JS.API.STREAM.CREATE.filler',
          JSON.stringify({ name: 'filler', subjects: ['filler'] }),
          PATIENT
        )
        const fill = async () => {
          for (let isFull = false; !isFull; ) {
            const said = (await bare.request('filler', text, PATIENT)).json<{ error?: object }>()
            isFull = said.error !== undefined
          }
        }
        for (let n = 0; n < 100; n++) {
          // The first events find room.
          if (n === 50) await fill()
          await client.publish('full.test', { n, text }).then(
            () => stored.push(n),
            (error: NotStoredError) => refused.push(error)
          )
        }
        assert.ok(stored.length >= 50 && refused.length > 0, `${stored.length} stored`)
        for (const error of refused) {
          assert.ok(error instanceof NotStoredError, String(error))
          assert.deepEqual([error.code, error.mayHaveRun, error.retryable], ['NOT_STORED', false, true])
          assert.match(error.message, advice)
        }
        await assert.rejects(client.publish('another.test', { text }), (error: Error) => {
          assert.ok(error instanceof NotStoredError, String(error))
          return true
        })
        isFilling = false
        await until('There is no room for a dead letter', () =>
          lines.some((line) => line.includes('could not be stored as a dead letter'))
        )
        await bare.request('$JS.API.STREAM.PURGE.filler', '', PATIENT)
        await client.publish('full.test', { n: 100 })
        stored.push(100)
        const letters = async () => {
          const ids: unknown[] = []
          for await (const { data } of client.group('full').deadLetters.list()) ids.push(data)
          return ids
        }
        await until('It is a dead letter', async () => (await letters()).length === 1)
        await until('All that was stored is handled', () => seen.size === stored.length - 1)
        assert.deepEqual(
          [...seen].sort((a, b) => Number(a) - Number(b)),
          stored.slice(1)
        )
        await bare.close()
        await client.close()
        await service.stop()
      })
    })
  }
}
