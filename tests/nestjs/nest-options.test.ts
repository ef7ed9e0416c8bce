/**
 * Every option of NestJS's transports has an answer: the lists of the transports have exactly the options of NestJS's own
 * types, so that the compiler reports a new one, or one that is gone; and NestJS's own form works with one changed line.
 */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { GRPC_NEST_OPTIONS } from '@elysia-microservices/grpc/testing'
import { fromNest as kafkaOf } from '@elysia-microservices/kafka'
import { KAFKA_NEST_OPTIONS } from '@elysia-microservices/kafka/testing'
import { MQTT_NEST_OPTIONS } from '@elysia-microservices/mqtt/testing'
import { NATS_NEST_OPTIONS } from '@elysia-microservices/nats/testing'
import {
  ClientProxyFactory,
  ClientsModule,
  MicroserviceClient,
  MicroserviceGrpcClient,
  MicroserviceServer
} from '@elysia-microservices/nestjs'
import { RABBITMQ_NEST_OPTIONS } from '@elysia-microservices/rabbitmq/testing'
import { REDIS_NEST_OPTIONS } from '@elysia-microservices/redis/testing'
import { TCP_NEST_OPTIONS } from '@elysia-microservices/tcp/kit'
import type { NestOption } from '@elysia-microservices/transport/nest'
import { Controller, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  type GrpcOptions,
  type KafkaOptions,
  MessagePattern,
  type MicroserviceOptions,
  type MqttOptions,
  type NatsOptions,
  type RedisOptions,
  type RmqOptions,
  type TcpClientOptions,
  type TcpOptions,
  Transport
} from '@nestjs/microservices'
import { Partitioners } from 'kafkajs'
import { firstValueFrom } from 'rxjs'
import { testsFolder } from '../workspace.ts'

/** The names of an object type, without index signatures. */
type Names<Type> = keyof { [Name in keyof Type as string extends Name ? never : Name]: true } & string
type Given<Options extends { readonly options?: unknown }> = NonNullable<Options['options']>
/** The names of options; those in groups have names such as `client.brokers`. */
type Flat<Options, Groups extends keyof Options & string = never> =
  | Exclude<Names<Options>, Groups>
  | { [Group in Groups]: `${Group}.${Names<NonNullable<Options[Group]>>}` }[Groups]
/** Exactly these options: neither fewer nor more. */
type Exactly<Listed extends string> = Readonly<Record<Listed, NestOption>>

const groups = <Listed extends string>(table: Exactly<Listed> & Readonly<Record<string, NestOption>>) =>
  Object.keys(table)

type Kafka = Given<KafkaOptions>
type KafkaNames = Flat<Kafka, 'client' | 'consumer' | 'run' | 'subscribe' | 'producer' | 'send' | 'parser'>
type RmqNames = Flat<Given<RmqOptions>, 'queueOptions' | 'socketOptions'>
type MqttNames = Flat<Given<MqttOptions>, 'subscribeOptions'>
type TcpNames = Names<Given<TcpOptions>> | Names<Given<TcpClientOptions>>
type GrpcNames = Flat<Given<GrpcOptions>, 'keepalive' | 'loader' | 'channelOptions'>
/** Options of grpc-js that Nest's types do not list, and passes on. */
type GrpcJs =
  `channelOptions.grpc.${'keepalive_time_ms' | 'keepalive_timeout_ms' | 'keepalive_permit_without_calls' | `max_connection_${'age' | 'idle' | 'age_grace'}_ms`}`
type Same<Table, Listed extends string> = [Exclude<keyof Table, Listed>] extends [never]
  ? true
  : Exclude<keyof Table, Listed>

describe("the lists of options of Nest's transports", () => {
  it('have the options of its types, and no others', () => {
    const missing = [
      groups<KafkaNames>(KAFKA_NEST_OPTIONS),
      groups<RmqNames>(RABBITMQ_NEST_OPTIONS),
      groups<MqttNames>(MQTT_NEST_OPTIONS),
      groups<Names<Given<NatsOptions>>>(NATS_NEST_OPTIONS),
      groups<Names<Given<RedisOptions>>>(REDIS_NEST_OPTIONS),
      groups<TcpNames>(TCP_NEST_OPTIONS),
      groups<GrpcNames>(GRPC_NEST_OPTIONS)
    ]
    const isExact: readonly [
      Same<typeof KAFKA_NEST_OPTIONS, KafkaNames>,
      Same<typeof RABBITMQ_NEST_OPTIONS, RmqNames>,
      Same<typeof MQTT_NEST_OPTIONS, MqttNames>,
      Same<typeof NATS_NEST_OPTIONS, Names<Given<NatsOptions>>>,
      Same<typeof REDIS_NEST_OPTIONS, Names<Given<RedisOptions>>>,
      Same<typeof TCP_NEST_OPTIONS, TcpNames>,
      Same<typeof GRPC_NEST_OPTIONS, GrpcNames | GrpcJs>
    ] = [true, true, true, true, true, true, true]
    assert.equal(missing.length, isExact.length)
  })

  it('answer each option in one way: it works, is not needed, or is refused with a sentence', () => {
    for (const table of [
      KAFKA_NEST_OPTIONS,
      RABBITMQ_NEST_OPTIONS,
      MQTT_NEST_OPTIONS,
      NATS_NEST_OPTIONS,
      REDIS_NEST_OPTIONS,
      TCP_NEST_OPTIONS,
      GRPC_NEST_OPTIONS
    ])
      for (const [name, { ours, needless, instead }] of Object.entries<NestOption>(table))
        assert.equal([ours, needless, instead].filter((one) => one !== undefined).length, 1, name)
  })
})

const protoPath = join(testsFolder, 'nestjs/grpc/protos/common/money.proto')
const urls = [
  'amqp://127.0.0.1:1',
  { hostname: 'b', port: '5672', username: '', password: '', vhost: 'shop' }
]

/** Options as applications have them, for each transport of Nest. */
const FORMS: readonly (readonly [Transport, object])[] = [
  [Transport.TCP, { host: '127.0.0.1', port: '3001', maxSendBufferSize: 0 }],
  [
    Transport.REDIS,
    {
      host: '127.0.0.1',
      port: '6379',
      password: '',
      db: 2,
      keyPrefix: 'a:',
      retryAttempts: 5,
      retryDelay: 100,
      wildcards: true
    }
  ],
  [
    Transport.NATS,
    {
      servers: ['nats://127.0.0.1:1'],
      user: '',
      pass: '',
      queue: 'orders',
      headers: { 'x-from': 'a' },
      maxReconnectAttempts: 10,
      gracefulShutdown: true,
      gracePeriod: 100
    }
  ],
  [
    Transport.RMQ,
    {
      ...{
        urls,
        queue: 'orders',
        noAck: 'false',
        prefetchCount: '1',
        persistent: true,
        headers: { a: 'b' },
        noAssert: true
      },
      queueOptions: { durable: true, deadLetterExchange: 'dead', deadLetterRoutingKey: 'orders' },
      socketOptions: { heartbeatIntervalInSeconds: 60, reconnectTimeInSeconds: 5 }
    }
  ],
  [Transport.RMQ, { queue: '', exchange: 'events', exchangeType: 'fanout' }],
  [
    Transport.MQTT,
    {
      host: '127.0.0.1',
      port: 1883,
      protocolVersion: 5,
      subscribeOptions: { qos: 1 },
      userProperties: { a: ['b', 'c'] }
    }
  ],
  [
    Transport.GRPC,
    {
      ...{
        url: '127.0.0.1:0',
        package: ['shop.common'],
        protoPath,
        loader: { keepCase: true, longs: String }
      },
      ...{ maxSendMessageLength: 1_000, maxReceiveMessageLength: -1, maxMetadataSize: 20_000 },
      keepalive: { keepaliveTimeMs: 10_000, keepaliveTimeoutMs: 5_000, keepalivePermitWithoutCalls: 1 },
      credentials: { _isSecure: () => false },
      channelOptions: { 'grpc.max_concurrent_streams': 10, 'grpc.use_local_subchannel_pool': 1 },
      gracefulShutdown: true
    }
  ],
  [
    Transport.KAFKA,
    {
      client: {
        brokers: ['127.0.0.1:1'],
        clientId: 'orders',
        ssl: true,
        sasl: { mechanism: 'plain', username: 'u', password: 'p' },
        retry: { retries: 3 }
      },
      consumer: { groupId: 'orders', sessionTimeout: 30_000, allowAutoTopicCreation: true },
      subscribe: { fromBeginning: true },
      producer: { createPartitioner: Partitioners.LegacyPartitioner },
      producerOnlyMode: true
    }
  ]
]

describe("options in Nest's own form", () => {
  for (const [transport, options] of FORMS)
    it(`are taken by server and client: ${Transport[transport]}`, async () => {
      const server = new MicroserviceServer({ transport, options })
      assert.equal(server.transportId, transport)
      const Client = transport === Transport.GRPC ? MicroserviceGrpcClient : MicroserviceClient
      await new Client({ transport, options }).close()
    })

  it("are taken in the type that Nest's users give them", () => {
    const given: RmqOptions & MicroserviceOptions = {
      transport: Transport.RMQ,
      options: { urls: ['amqp://a'] }
    }
    const ofOne = (): RmqOptions => given
    const ofAny = (): MicroserviceOptions => given
    for (const options of [ofOne(), ofAny()])
      assert.equal(new MicroserviceServer(options).transportId, Transport.RMQ)
  })

  it('that have no counterpart are refused, with what to do', () => {
    for (const [transport, options, sentence] of [
      [Transport.RMQ, { queue: '' }, /needs options.nest.exchange/],
      [Transport.RMQ, { queue: 'q', exchange: 'e', exchangeType: 'direct' }, /'topic' or 'fanout'/],
      [Transport.KAFKA, { serializer: {} }, /pipes and interceptors/],
      [Transport.NATS, { userCreds: 'x' }, /credsAuthenticator/],
      [Transport.REDIS, { role: 'slave' }, /need the master/],
      [Transport.MQTT, { will: {} }, /will: \{ pattern, data \}/],
      [Transport.TCP, { retryAttempts: 3 }, /call listen\(\) again/],
      [Transport.GRPC, {}, /either options.protoPath or options.packageDefinition/],
      [Transport.GRPC, { protoPath, package: 'bank' }, /options.package names 'bank', which has no service/],
      [Transport.GRPC, { protoPath, url: 'http://a' }, /options.url must be an address such as/],
      [Transport.GRPC, { protoPath, loader: { json: true } }, /NaN and Infinity are numbers/],
      [Transport.GRPC, { protoPath, protoLoader: 'mine' }, /give options.packageDefinition/],
      [Transport.GRPC, { protoPath, onLoadPackageDefinition() {} }, /the options reflection and health/],
      [
        Transport.GRPC,
        { protoPath, credentials: { _isSecure: () => true } },
        /give options.tls in its place/
      ],
      [Transport.GRPC, { protoPath, channelOptions: { 'grpc.service_config': '{}' } }, /retry and timeouts/]
    ] as const)
      assert.throws(() => new MicroserviceServer({ transport, options }), sentence)
  })

  it('that nobody knows have no effect, as in Nest, and a line says so', () => {
    for (const [transport, options, path] of [
      [Transport.NATS, { unheard: 1 }, 'options.unheard'],
      [Transport.REDIS, { user: '' }, 'options.user'],
      [Transport.RMQ, { queue: 'q', queueOptions: { durabel: true } }, 'options.queueOptions.durabel'],
      [Transport.KAFKA, { client: { clientID: 'a' } }, 'options.client.clientID'],
      [Transport.MQTT, { brokerUrl: 'mqtt://a' }, 'options.brokerUrl'],
      [Transport.TCP, { hostname: 'a' }, 'options.hostname'],
      [Transport.GRPC, { protoPath, maxMessage: 1 }, 'options.maxMessage']
    ] as const) {
      const lines: string[] = []
      const logger = { error: assert.fail, warn: (line: string) => void lines.push(line) }
      new MicroserviceServer({ transport, options, logger })
      const Client = transport === Transport.GRPC ? MicroserviceGrpcClient : MicroserviceClient
      new Client({ transport, options, logger })
      const line = `${path} has no effect: it is no option of Nest's transport, and none of this library's`
      assert.deepEqual(lines, [line, line])
    }
  })

  it('name the group of a service, or give each process every event, as Nest does', () => {
    const { group, transport } = kafkaOf({ client: { clientId: 'a' } })
    assert.deepEqual([group, transport.name], ['nestjs-group', 'kafka'])
  })

  it('work in an application by changing the imports of its modules and its strategy alone', async () => {
    @Controller()
    class Sums {
      @MessagePattern('sum')
      sum(numbers: number[]): number {
        return numbers.reduce((a, b) => a + b, 0)
      }
    }
    @Module({ controllers: [Sums] })
    class App {}
    const options = { host: '127.0.0.1', port: 0 }
    const strategy = new MicroserviceServer({ transport: Transport.TCP, options })
    const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
    await app.listen()
    const port = String(strategy.address?.port)
    const provider = {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: port as unknown as number }
    } as const
    @Injectable()
    class Options {
      createClientOptions() {
        return provider
      }
    }
    @Module({
      imports: [
        ClientsModule.register([{ name: 'A', ...provider }]),
        ClientsModule.registerAsync({
          clients: [
            { name: 'B', useFactory: () => provider },
            { name: 'C', useClass: Options }
          ]
        })
      ]
    })
    class Callers {}
    const callers = await NestFactory.createApplicationContext(Callers, { logger: false })
    const clients = [
      ...['A', 'B', 'C'].map((name) => callers.get<ClientProxy>(name)),
      ClientProxyFactory.create(provider)
    ]
    for (const client of clients) {
      assert.ok(client instanceof MicroserviceClient)
      assert.equal(await firstValueFrom(client.send('sum', [1, 2])), 3)
    }
    await clients[3]?.close()
    await callers.close()
    await app.close()
  })
})
