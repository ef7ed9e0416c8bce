/** The small example of each engine, started by its command with a real server. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { PostgresServer } from '@elysia-microservices/outbox/testing'
import { isMissing, RedisServerProcess, redisMissing } from '@elysia-microservices/test-support'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { RabbitmqServerProcess, rabbitmqMissing } from '../support/rabbitmq-server.ts'
import { bun, rootFolder } from '../workspace.ts'

/** The folder for JetStream's data. */
const stored = mkdtempSync(join(tmpdir(), 'examples-'))

const EXAMPLES = {
  redis: {
    missing: redisMissing(),
    start: () => RedisServerProcess.start(),
    variable: 'REDIS_URL',
    prints: /^50 answers of [12] instances, the last is 50\norder 7 is shipped\n$/
  },
  nats: {
    missing: natsMissing(),
    start: () => NatsServerProcess.start('-js', '-sd', stored),
    variable: 'NATS_URL',
    prints: /^tea: 3 left\n(.*\n)*order 7 is paid, at attempt 2\n/
  },
  postgres: {
    missing: undefined,
    async start() {
      const server = await PostgresServer.start()
      return { url: await server.database(), stop: () => server.stop() }
    },
    variable: 'DATABASE_URL',
    prints: /^Reminded of an order with \{\s*charges: 1,?\s*\}\n$/
  },
  rabbitmq: {
    missing: rabbitmqMissing(),
    start: () => RabbitmqServerProcess.start(),
    variable: 'RABBITMQ_URL',
    prints: /order 7 is charged, at attempt 2\n/
  },
  kafka: {
    missing: kafkaMissing(),
    async start() {
      const server = await KafkaServerProcess.start()
      return { url: server.broker, stop: () => server.stop() }
    },
    variable: 'KAFKA_BROKERS',
    prints:
      /^order 3 of bob is charged, at attempt 1\norder 1 of ada is charged, at attempt 2\norder 2 of ada is charged, at attempt 1\n$/
  },
  mqtt: {
    missing: mosquittoMissing(),
    start: () => MosquittoProcess.start(),
    variable: 'MQTT_URL',
    prints: /^plants\/7\/measured: 21\.5\nthe device has its answer: \{"most":70\}\n$/
  }
} as const

/** The most lines that an example may have: it should be understood at a glance. */
const MAX_LINES = 39

describe('the small example', { timeout: 120_000 }, () => {
  after(() => rmSync(stored, { recursive: true, force: true }))

  for (const [engine, { missing, start, variable, prints }] of Object.entries(EXAMPLES)) {
    if (isMissing(`the example over ${engine}`, missing)) continue
    it(`over ${engine} prints what it shows, and ends`, async () => {
      const file = join(rootFolder, 'examples/small', engine, 'start.ts')
      assert.ok(readFileSync(file, 'utf8').split('\n').length - 1 <= MAX_LINES)
      const server = await start()
      try {
        const env = { ...process.env, [variable]: server.url }
        const { stdout } = await promisify(execFile)(bun, [file], { env })
        assert.match(stdout, prints)
      } finally {
        await server.stop()
      }
    })
  }
})
