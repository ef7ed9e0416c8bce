/**
 * Wrong options at every public place that takes some: a name that nobody knows, and a value that no option can have.
 * Each is refused with the path of the option. The names of the options are read from the error about the unknown one.
 */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { connectRpc } from '@elysia-microservices/connect'
import { consolePage } from '@elysia-microservices/console'
import { grpc } from '@elysia-microservices/grpc'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { MicroserviceClient, MicroserviceServer } from '@elysia-microservices/nestjs'
import { inbox, migrate, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { migrateEvents, postgres } from '@elysia-microservices/postgres'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { sqlite } from '@elysia-microservices/sqlite'
import { health, prometheus, telemetry } from '@elysia-microservices/telemetry'
import { websocket } from '@elysia-microservices/websocket'
import { connect as connectPage } from '@elysia-microservices/websocket/client'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { asyncApiRoute } from 'elysia-microservices/describe'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'

// biome-ignore lint/suspicious/noExplicitAny: options of every place, wrong on purpose
type Options = any

const logger = { error() {}, warn() {} }
const run = () => undefined
const sql = Object.assign(() => Promise.resolve([]), { unsafe: run, begin: run, options: {} }) as never

/** Services of protobuf without methods. */
const proto = { services: [{ name: 'a.B', methods: [] }], descriptors: run } as never

/** Methods of gRPC, of which there are none. */
const methods = { services: [], method: run, descriptors: () => new Uint8Array() }
const ofServer = (options: Options) => microservice({ transport: grpc({ proto: methods, ...options }) })
const ofClient = (options: Options) => connect({ transport: grpc({ proto: methods, ...options }) })

const transport = memory()
const service = microservice({ transport, name: 'a' })
  .message('x', ({ data }) => data)
  .event('y', run, { durable: true })
const client = connect({ transport, logger }) as UntypedStoringClient
const ends = (newTransport: (options: Options) => Transport) => (options: Options) => {
  connect({ transport: newTransport(options) })
  microservice({ transport: newTransport(options) })
}
const first = async (values: AsyncIterable<unknown>) => {
  for await (const _ of values) return
}
const newService = (options: Options) => microservice({ transport: memory(), ...options })

/** A place that takes options. Some options are known by another place only, so they are given here. */
type Place = (options: Options) => unknown

const PLACES: Readonly<Record<string, Place>> = {
  'microservice()': newService,
  'microservice() over TCP': (options) => microservice({ transport: 'tcp', ...options }),
  'chaos of a service': (chaos) => newService({ chaos: { rules: [], ...chaos } }),
  'a rule of chaos': (rule) => newService({ chaos: { rules: [{ probability: 1, ...rule }] } }),
  'nest of a service': (nest) => newService({ nest }),
  'connect()': (options) => connect({ transport: memory(), ...options }),
  'connect() over TCP': (options) => connect(options),
  'connect() of a page': (options) => connectPage({ url: 'ws://localhost/', ...options }),
  'limits of a TCP server': (limits) => microservice({ transport: tcp({ limits }) }),
  'limits of a TCP client': (limits) => connect({ transport: tcp({ limits }) }),
  'rsocket of a TCP server': (rsocket) => microservice({ transport: tcp({ rsocket }) }),
  'rsocket of a TCP client': (rsocket) => connect({ transport: tcp({ rsocket }) }),
  'keepalive of a TCP client': (keepalive) => connect({ rsocket: { keepalive } }),
  'resume of a TCP client': (resume) => connect({ rsocket: { resume } }),
  'tls of a TCP client': (tls) => connect({ tls }),
  'reconnect of a TCP client': (reconnect) => connect({ reconnect }),
  'retry of a TCP client': (retry) => connect({ retry }),
  'the budget of retries': (budget) => connect({ retry: { budget } }),
  'eject of a TCP client': (eject) => connect({ eject }),
  'memory()': ends(memory),
  'grpc() of a service': ofServer,
  'grpc() of a client': ofClient,
  'limits of a gRPC server': (limits) => ofServer({ limits }),
  'limits of a gRPC client': (limits) => ofClient({ limits }),
  'keepalive of grpc()': (keepalive) => ofServer({ keepalive }),
  'health of grpc()': (health) => ofServer({ health }),
  'compression of grpc()': (compression) => ofClient({ compression }),
  'websocket()': (options) => websocket({ expose: ['x'], ...options }),
  'limits of websocket()': (limits) => websocket({ expose: ['x'], limits }),
  'connectRpc()': (options) => connectRpc({ proto, ...options }),
  'limits of connectRpc()': (limits) => connectRpc({ proto, limits }),
  'nats()': ends(nats),
  'durable of nats()': ends((durable) => nats({ durable })),
  'redis()': ends(redis),
  'durable of redis()': ends((durable) => redis({ durable })),
  'rabbitmq()': ends(rabbitmq),
  'nest of rabbitmq()': ends((nest) => rabbitmq({ nest: { queue: 'q', ...nest } })),
  'kafka()': ends(kafka),
  'mqtt()': ends(mqtt),
  'postgres()': (options) => postgres({ sql, ...options }),
  'migrateEvents()': (options) => migrateEvents(sql, options),
  'sqlite()': (options) => sqlite(':memory:', options),
  'durable of an event': (durable) => microservice().event('x', run, { durable }),
  'retry of a durable event': (retry) => microservice().event('x', run, { durable: { retry } }),
  'every of a durable event': (every) =>
    microservice().event('x', run, { durable: { every: { cron: '* * * * *', ...every } } }),
  'start of a durable event': (start) => microservice().event('x', run, { durable: { start } }),
  'derive()': (options) => microservice().derive(options, () => ({})),
  'gateway()': (options) => gateway(client, { 'GET /x': 'x' }, options),
  'a route of gateway()': (route) => gateway(client, { 'GET /': { pattern: 'x', ...route } }),
  'asyncApiRoute()': (options) => asyncApiRoute(service, options),
  'service.describe()': (options) => service.describe(options),
  'request()': (options) => client.request('x', 1, options),
  'stream()': (options) => client.stream('x', 1, options).next(),
  'emit()': (options) => client.emit('y', 1, options),
  'publish()': (options) => client.publish('y', 1, options),
  'with()': (options) => client.with(options),
  'schedule()': (every) => client.schedule('a', 'y', 1, { cron: '* * * * *', ...every }),
  'waiting()': (options) => first(client.waiting(options)),
  'backlog()': (options) => first(client.group('a').backlog(options)),
  'deadLetters.list()': (options) => first(client.group('a').deadLetters.list(options)),
  'close()': (options) => connect({ transport: memory() }).close(options),
  'telemetry()': (options) => telemetry(options),
  'prometheus()': (options) => prometheus(options),
  'health()': (options) => health(options),
  'outbox()': (options) => outbox(sql, options),
  'inbox()': (options) => inbox(sql, 'a', options),
  'outboxRelay()': (options) => outboxRelay({ sql, client, ...options }),
  'inbox().prune()': (options) => inbox(sql, 'a').prune(options),
  'migrate()': (options) => migrate(sql, options),
  MicroserviceServer: (options) => new MicroserviceServer(options),
  MicroserviceClient: (options) => new MicroserviceClient(options),
  'consolePage()': (options) => consolePage({ services: { a: client }, ...options })
}

/** The options of places whose errors do not list them. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  'microservice()':
    'name group version controllers nest workers drain shutdownOn store waitForConnection logger chaos describe'.split(
      ' '
    ),
  'connect()':
    'name timeout waitForConnection headers wrap forward inherit idempotent service store onStatus logger'.split(
      ' '
    )
}

/** Options that may have any value, or that a page does not check, because it loads no more than it needs. */
const FREE: Readonly<Record<string, readonly string[]>> = {
  'connect() of a page': ['credentials', 'wrap', 'WebSocket'],
  'a route of gateway()': ['params', 'query', 'body', 'response', 'detail'],
  'gateway()': ['service']
}

/** The error of a place; `undefined`: it takes the options. */
async function errorOf(place: Place, options: Options): Promise<Error | undefined> {
  try {
    await place(options)
    return undefined
  } catch (error) {
    return error as Error
  }
}

const NOBODYS = 'qqqqqqqqqqqqqqqqqqqq'

describe('a wrong option', () => {
  after(() => client.close())

  for (const [name, place] of Object.entries(PLACES))
    it(`of ${name} is refused with its path, whether its name is unknown or its value is wrong`, async () => {
      const unknown = await errorOf(place, { [NOBODYS]: 1 })
      assert.equal(unknown?.name, 'OptionError', `an unknown name: ${unknown}`)
      assert.ok((unknown as Error & { path: string }).path.endsWith(`.${NOBODYS}`), unknown.message)
      const names = OWN[name] ?? /there (?:is|are) (.*)$/.exec(unknown.message)?.[1]?.split(', ') ?? []
      assert.ok(names.length > 0, unknown.message)
      const taken: string[] = []
      for (const option of names) {
        const error = await errorOf(place, { [option]: Symbol('wrong') })
        const isNamed =
          error?.name === 'OptionError' && `${(error as never)['path']} ${error.message}`.includes(option)
        if (!isNamed && !FREE[name]?.includes(option)) taken.push(`${option}: ${error}`)
      }
      assert.deepEqual(taken, [])
    })
})
