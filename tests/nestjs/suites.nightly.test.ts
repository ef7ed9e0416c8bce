/**
 * The specs of NestJS's own suites, in four columns: NestJS's server and ours, each with NestJS's client and ours, all
 * from the same options. A difference is one that a sentence of the documentation tells.
 */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { OptionError } from '@elysia-microservices/nestjs'
import { freePort, isMissing, PATIENCE, until } from '@elysia-microservices/test-support'
import {
  type ClientKafka,
  type ClientOptions,
  type ClientProxy,
  type MicroserviceOptions,
  MqttRecordBuilder,
  Transport
} from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom, timeout, toArray } from 'rxjs'
import { rootFolder } from '../workspace.ts'
import { clientOf, type Maker, NETWORKS, type Network, ready, released, seen, serve } from './suites.ts'

/** A server and a client that talk. */
interface Column {
  readonly network: Network
  readonly port: number
  readonly server: Maker
  readonly client: Maker
  /** The options of its server and of its client. */
  readonly service: MicroserviceOptions
  readonly caller: ClientOptions
  serve(options?: MicroserviceOptions): Promise<{ close(): Promise<void> }>
  connect(options?: ClientOptions): Promise<ClientProxy>
}

const numbers = [1, 2, 3, 4, 5]
const ask = (client: ClientProxy, pattern: string, data: unknown = {}) =>
  firstValueFrom(client.send(pattern, data).pipe(timeout(PATIENCE / 2)))
const withOptions = <Options extends { options?: object }>(given: Options, options: object): Options => ({
  ...given,
  options: { ...given.options, ...options }
})

interface Spec {
  /** Networks that have such a spec. Default: all. */
  readonly over?: readonly string[]
  /** The servers that can pass it. Default: both. */
  readonly servers?: readonly Maker[]
  run(column: Column): Promise<unknown>
  readonly expected: unknown
}

const SPECS: Readonly<Record<string, Spec>> = {
  sums: {
    async run({ serve, connect }) {
      await serve()
      const client = await connect()
      const sums = []
      for (const pattern of ['sum', 'sumLater', 'sumValues'])
        sums.push(await ask(client, pattern, { numbers }))
      sums.push(await lastValueFrom(client.send('values', {}).pipe(toArray())))
      await client.connect()
      return [...sums, await ask(client, 'sum', { numbers })]
    },
    expected: [{ sum: 15 }, { sum: 15 }, { sum: 15 }, [{ n: 1 }, { n: 2 }, { n: 3 }], { sum: 15 }]
  },
  'a hundred calls at once': {
    async run({ serve, connect }) {
      await serve()
      const client = await connect()
      const all = Array.from({ length: 100 }, (_, n) => ({ n }))
      const answers = await Promise.all(all.map((data) => ask(client, 'echo', data)))
      return answers.every((answer, n) => (answer as { n: number }).n === n)
    },
    expected: true
  },
  'an event': {
    async run({ serve, connect }) {
      await serve()
      const client = await connect()
      await lastValueFrom(client.emit('noted', { n: 1 }), { defaultValue: undefined })
      return seen.take()
    },
    expected: { n: 1 }
  },
  'a second start': {
    async run({ serve, connect }) {
      await (await serve()).close()
      await serve()
      return ask(await connect(), 'echo', { n: 2 })
    },
    expected: { n: 2 }
  },
  disconnected: {
    async run({ network, client, server }) {
      const caller = clientOf(client, server, network.client(await freePort(), 'nobody'))
      const error = await firstValueFrom(caller.send('echo', {})).catch((one) => one)
      await caller.close()
      // The words that the spec of NestJS looks for, and those of the driver of NATS.
      return /ECONNREFUSED|connection refused|Connection is closed/.test(inspect(error))
    },
    expected: true
  },
  'headers of a record': {
    over: ['nats', 'rabbitmq', 'mqtt'],
    async run({ network, serve, connect }) {
      await serve()
      const { said } = (await ask(
        await connect(),
        'header',
        network.ends?.record({}, { 'x-version': '1' })
      )) as {
        said: string
      }
      return said
    },
    expected: '1'
  },
  'two servers, without a queue': {
    over: ['redis', 'nats', 'mqtt'],
    async run({ serve, connect, ...column }) {
      await serve()
      await serve()
      const client = await connect()
      const values: unknown[] = []
      client.send('endless', {}).subscribe({ next: (value) => values.push(value), error() {} })
      const expected = expectedOf(
        column.network,
        'two servers, without a queue',
        column.server,
        column.client
      )
      await until('The values have come', () => values.length >= (expected as number))
      for (let n = 0; n < 5; n++) await ask(client, 'echo', { n })
      return values.length
    },
    expected: 2
  },
  wildcards: {
    over: ['redis', 'nats', 'rabbitmq', 'mqtt'],
    async run({ network, serve, connect, service, caller }) {
      const own = network.name === 'rabbitmq' ? { wildcards: true } : {}
      await serve(withOptions(service, own))
      const client = await connect(withOptions(caller, own))
      const answer = (await ask(client, network.ends?.levels ? 'time/us/east' : 'time.us.east', {
        n: 1
      })) as {
        readonly at: string
      }
      return { ...answer, at: answer.at.replaceAll('/', '.') }
    },
    expected: { at: 'time.us.east', data: { n: 1 } }
  },
  'a shared subscription': {
    over: ['mqtt'],
    async run({ serve, connect }) {
      await serve()
      await serve()
      return lastValueFrom((await connect()).send('jobs/1', { n: 1 }).pipe(toArray()))
    },
    expected: [{ n: 1 }]
  },
  'QoS of a record': {
    over: ['mqtt'],
    async run({ serve, connect, service }) {
      await serve(withOptions(service, { subscribeOptions: { qos: 2 } }))
      const record = new MqttRecordBuilder({}).setQoS(1).build()
      return ((await ask(await connect(), 'header', record)) as { readonly qos: number }).qos
    },
    expected: 1
  },
  'a dead broker beside the live one': {
    over: ['rabbitmq'],
    async run({ serve, connect, service, caller, port }) {
      const urls = [`amqp://127.0.0.1:${await freePort()}`, `amqp://127.0.0.1:${port}`]
      await serve(withOptions(service, { urls }))
      return ask(await connect(withOptions(caller, { urls })), 'echo', { n: 1 })
    },
    expected: { n: 1 }
  },
  'a fanout exchange': {
    over: ['rabbitmq'],
    async run({ serve, connect, port }) {
      const options = {
        urls: [`amqp://127.0.0.1:${port}`],
        exchange: 'suite.fanout',
        exchangeType: 'fanout' as const
      }
      await serve({
        transport: Transport.RMQ,
        options: { ...options, queue: '', queueOptions: { exclusive: true } }
      })
      return ask(await connect({ transport: Transport.RMQ, options }), 'echo', { n: 1 })
    },
    expected: { n: 1 }
  },
  'acknowledged by hand': {
    over: ['rabbitmq'],
    async run({ serve, connect, service }) {
      await serve(withOptions(service, { noAck: false }))
      return ask(await connect(), 'held')
    },
    expected: { is: 'acknowledged' }
  },
  'a serializer of its own': {
    over: ['redis'],
    async run({ serve, connect, service, caller }) {
      const serializer = { serialize: (packet: unknown) => packet }
      await serve(withOptions(service, { serializer }))
      return ask(await connect(withOptions(caller, { serializer })), 'echo', { n: 1 })
    },
    expected: { n: 1 }
  },
  'key, value and headers': {
    over: ['kafka'],
    async run({ serve, connect }) {
      await serve()
      return ask(await connect(), 'echo', { key: 'k', value: { n: 1 }, headers: { 'x-a': '1' } })
    },
    expected: { n: 1 }
  },
  'several events at once': {
    over: ['kafka'],
    async run({ serve, connect }) {
      await serve()
      const client = (await connect()) as ClientKafka
      await lastValueFrom(
        client.emitBatch('noted', { messages: [{ value: { n: 1 } }, { value: { n: 2 } }] }),
        { defaultValue: undefined }
      )
      return [await seen.take(), await seen.take()]
    },
    expected: [{ n: 1 }, { n: 2 }]
  },
  'a handler that blocks its topic': {
    over: ['kafka'],
    // The option of this spec, topicConsumers, is newer than NestJS 12.1, whose servers cannot do this without it.
    servers: ['ours'],
    async run({ serve, connect }) {
      await serve()
      const client = await connect()
      const emit = (topic: string) =>
        lastValueFrom(client.emit(topic, { topic }), { defaultValue: undefined })
      await emit('blocking')
      const first = await seen.take()
      await emit('noted')
      const second = await seen.take()
      released.next()
      return [first, second, await seen.take()]
    },
    expected: ['blocked', { topic: 'noted' }, 'released']
  }
}

/** Where an outcome is not NestJS's, and the sentence that tells it. */
interface Difference {
  readonly over: string
  readonly spec: string
  readonly columns: readonly `${Maker} with ${Maker}`[]
  readonly outcome: unknown
  /** The page, and words of it. */
  readonly told: readonly [page: string, words: string]
}

const REFUSED = 'an option is refused'
const OURS = ['ours with Nest', 'Nest with ours', 'ours with ours'] as const
const OUR_SERVER = ['ours with Nest', 'ours with ours'] as const

const DIFFERENCES: readonly Difference[] = [
  {
    over: 'redis',
    spec: 'two servers, without a queue',
    columns: ['ours with ours'],
    outcome: 1,
    told: ['docs/migration-from-nest.md', 'each process gets every event, as in Nest; requests are shared']
  },
  {
    over: 'nats',
    spec: 'two servers, without a queue',
    columns: OUR_SERVER,
    outcome: 1,
    told: [
      'docs/nats.md',
      'without its option `queue`, every process runs every request | all processes share the requests'
    ]
  },
  {
    over: 'mqtt',
    spec: 'two servers, without a queue',
    columns: OUR_SERVER,
    outcome: 1,
    told: ['docs/mqtt.md', 'several processes | share messages | each gets every message']
  },
  {
    over: 'redis',
    spec: 'a serializer of its own',
    columns: OURS,
    outcome: REFUSED,
    told: ['docs/migration-from-nest.md', 'refused with an `OptionError`: `serializer` and `deserializer`']
  }
]

function expectedOf(network: Network, spec: string, server: Maker, client: Maker): unknown {
  const difference = DIFFERENCES.find(
    (one) =>
      one.over === network.name && one.spec === spec && one.columns.includes(`${server} with ${client}`)
  )
  return difference === undefined ? SPECS[spec]?.expected : difference.outcome
}

describe("the specs of NestJS's suites", () => {
  it('have only differences that the documentation tells', () => {
    for (const { told } of DIFFERENCES)
      assert.ok(readFileSync(join(rootFolder, told[0]), 'utf8').includes(told[1]), told[1])
  })

  for (const network of NETWORKS)
    if (!isMissing(`NestJS's suites over ${network.title}`, network.missing))
      describe(`over ${network.title}`, () => {
        let broker: { readonly port: number; close(): Promise<void> }
        let group = 0
        const open: { close(): unknown }[] = []
        before(async () => {
          broker = await network.start()
        })
        after(() => broker.close())
        afterEach(async () => {
          for (const one of open.splice(0).reverse()) await one.close()
        })

        for (const server of ['Nest', 'ours'] as const)
          for (const client of ['Nest', 'ours'] as const)
            for (const [name, { over = [network.name], servers = [server], run }] of Object.entries(SPECS))
              if (over.includes(network.name) && servers.includes(server))
                it(`${name}: ${server} with ${client}`, { timeout: 2 * PATIENCE }, async () => {
                  const own = `suite-${group++}`
                  const service = network.service(broker.port, own)
                  const caller = network.client(broker.port, own)
                  const column: Column = {
                    network,
                    service,
                    caller,
                    port: broker.port,
                    server,
                    client,
                    async serve(options = service) {
                      const running = await serve(server, network, options)
                      open.push(running)
                      return running
                    },
                    async connect(options = caller) {
                      const made = clientOf(client, server, options)
                      open.push(made)
                      await ready(made, network)
                      return made
                    }
                  }
                  const outcome = await run(column).catch((error) => {
                    if (error instanceof OptionError) return REFUSED
                    throw error
                  })
                  assert.deepEqual(outcome, expectedOf(network, name, server, client))
                })
      })
})
