/**
 * Options as `process.env` and Nest's `ConfigService` have them: numbers and booleans as text, and an empty user or
 * password for none. All tables of options are read, and the places that have none.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { MicroserviceClient, MicroserviceServer } from '@elysia-microservices/nestjs'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { tcp } from '@elysia-microservices/tcp'
import { type OptionTable, readTable } from '@elysia-microservices/transport/kit'
import { websocket } from '@elysia-microservices/websocket'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rootFolder } from '../workspace.ts'

type Table = OptionTable<Record<string, unknown>>

const TABLE = /export const (\w+) = \{[^;]*?\} as const satisfies OptionTable</g
const SAMPLES = [true, false, 1, 10, 600, 1_000, 30_000, 200_000, 700_000_000]

function sourcesIn(folder: string): readonly string[] {
  const files = readdirSync(join(rootFolder, folder), { recursive: true, encoding: 'utf8' })
  return files.filter((file) => /(?<!\.test)\.ts$/.test(file)).map((file) => `${folder}/${file}`)
}

/** All tables of options, by name, from the built packages. */
async function tables(): Promise<Map<string, Table>> {
  const found = new Map<string, Table>()
  const files = ['packages', 'engines'].flatMap((row) =>
    readdirSync(join(rootFolder, row)).flatMap((name) => sourcesIn(`${row}/${name}/src`))
  )
  for (const file of files) {
    const names = [...readFileSync(join(rootFolder, file), 'utf8').matchAll(TABLE)].map(
      ([, name = '']) => name
    )
    if (names.length === 0) continue
    const built = join(rootFolder, file.replace('/src/', '/dist/').replace(/\.ts$/, '.js'))
    const module = (await import(pathToFileURL(built).href)) as Readonly<Record<string, Table>>
    for (const name of names) found.set(name, module[name] as Table)
  }
  return found
}

/** The value of one option; `undefined`: the table refuses it. Options that must be given are left out. */
function readOne(table: Table, name: string, given: unknown): unknown {
  try {
    return readTable<Record<string, unknown>, Table>(
      'options',
      { [name]: given },
      { [name]: table[name] ?? {} }
    )[name]
  } catch {
    return undefined
  }
}

/** An option that the compiler believes to be a number or a boolean. */
// biome-ignore lint/suspicious/noExplicitAny: as values of process.env and ConfigService come to options
const text = (value: string): any => value

describe('options as text', () => {
  it('are numbers and booleans wherever an option is one, in every table', async () => {
    const all = await tables()
    assert.ok(all.size >= 15, [...all.keys()].join())
    let count = 0
    for (const [table, rows] of all)
      for (const [name, { byDefault, check }] of Object.entries(rows)) {
        const isTyped = check !== undefined || typeof byDefault === 'number' || typeof byDefault === 'boolean'
        for (const sample of isTyped ? SAMPLES : []) {
          const isText = readOne(rows, name, String(sample)) === String(sample)
          if (isText || readOne(rows, name, sample) !== sample) continue
          count++
          assert.equal(readOne(rows, name, String(sample)), sample, `${table}.${name}: '${sample}'`)
        }
        if (name === 'username' || name === 'password')
          if (!table.includes('SASL'))
            assert.equal(readOne(rows, name, ''), undefined, `${table}.${name}: ''`)
      }
    assert.ok(count > 150, String(count))
  })

  it('that stand for no number are refused as they are', () => {
    for (const port of ['', 'abc', '0x10', '1e3', '-1', '70000'])
      assert.throws(() => new MicroserviceServer({ port: text(port) }), /options.port must be/, port)
  })

  it('work at both ends, here and inside Nest, over every transport', async () => {
    const service = microservice({
      transport: 'tcp',
      port: text('0'),
      drain: text('1000'),
      limits: { idle: text('60000'), inFlight: text('false') }
    }).message('echo', ({ data }) => data)
    await service.listen()
    const port = text(String(service.address?.port))
    const calls = { timeout: text('5000'), waitForConnection: text('1000'), inherit: text('false') }
    const client = connect({
      port,
      ...calls,
      reconnect: text('false'),
      rsocket: { keepalive: { interval: text('1000') } }
    })
    assert.equal(await client.request('echo', 1), 1)
    await client.close()
    await service.stop()
    const others = [
      nats({ username: '', password: '', token: '', pingInterval: text('1000'), noRandomize: text('true') }),
      redis({ host: 'localhost', port: text('6379'), username: '', password: '' }),
      rabbitmq({
        heartbeat: text('5000'),
        nest: { queue: 'q', noAck: text('false'), prefetchCount: text('5') }
      }),
      kafka({ partitions: text('3'), sasl: { mechanism: 'PLAIN', username: '', password: '' } }),
      mqtt({ username: '', password: '', heartbeat: text('5000') }),
      tcp({ port: text('3001'), connectTimeout: text('500') })
    ]
    for (const transport of others) await new MicroserviceClient({ transport, timeout: text('100') }).close()
    assert.doesNotThrow(() =>
      websocket({ expose: ['a'], limits: { streams: text('5'), age: text('false') } })
    )
    assert.doesNotThrow(
      () => new MicroserviceServer({ port: text('3001'), drain: text('0'), tls: undefined })
    )
  })
})
