/** The ends of NestJS's own integration tests: its controller, its servers and clients, and ours from the same options. */
import { MicroserviceServer, ClientProxyFactory as OurFactory } from '@elysia-microservices/nestjs'
import { freePort, pause, Values } from '@elysia-microservices/test-support'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientKafka,
  type ClientOptions,
  type ClientProxy,
  ClientProxyFactory,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport
} from '@nestjs/microservices'
import { Kafka, logLevel } from 'kafkajs'
import { concat, defer, firstValueFrom, from, NEVER, of, retry, Subject, takeUntil, timeout } from 'rxjs'
import type { RunningEngine } from '../engines/engines.ts'
import { ENGINES } from '../engines/engines.ts'
import { type NestEnds, nestOnMqtt, nestOnNats, nestOnRabbitmq, nestOnRedis } from '../engines/nest-ends.ts'

/** An end is NestJS's or ours. */
export type Maker = 'Nest' | 'ours'
/** NestJS's context, which is another class on each transport. */
interface AnyContext {
  readonly getPacket: () => { readonly qos?: number }
  readonly getMessage: () => object
  readonly getChannelRef: () => { ack(message: object): void }
}

/** A transport of NestJS, and a server of its broker. */
export interface Network {
  readonly name: string
  readonly title: string
  /** Why this machine cannot run the broker; `undefined`: it can. */
  readonly missing?: string | undefined
  start(): Promise<{ readonly port: number; close(): Promise<void> }>
  /** @param group shared by the members of one test, and by no other one */
  service(port: number, group: string): MicroserviceOptions
  client(port: number, group: string): ClientOptions
  /** How records and contexts of NestJS look; `undefined`: there are no headers. */
  readonly ends?: NestEnds
}

const host = '127.0.0.1'
/** The patterns, which are topics of Kafka. */
export const PATTERNS = ['sum', 'sumLater', 'sumValues', 'values', 'echo', 'header', 'endless', 'held']
const EVENTS = ['noted', 'blocking']
const ofKafka = (port: number) => ({
  brokers: [`${host}:${port}`],
  logLevel: logLevel.NOTHING,
  retry: { retries: 2 }
})

function overEngine(name: string, ends: NestEnds | undefined, own: Partial<Network> = {}): Network {
  const engine = ENGINES.find((one) => one.name === name)!
  return {
    name,
    title: engine.title,
    missing: engine.missing,
    start: (): Promise<RunningEngine> => engine.start(),
    service: (port) => ends!.service(port),
    client: (port) => ends!.client(port) as ClientOptions,
    ...(ends === undefined ? {} : { ends }),
    ...own
  }
}

/** NATS's servers as in NestJS's tests, which have no queue. */
const withoutQueue = (port: number): MicroserviceOptions => ({
  transport: Transport.NATS,
  options: { servers: [`nats://${host}:${port}`] }
})

export const NETWORKS: readonly Network[] = [
  {
    name: 'tcp',
    title: 'TCP',
    start: async () => ({ port: await freePort(), async close() {} }),
    service: (port) => ({ transport: Transport.TCP, options: { host, port } }),
    client: (port) => ({ transport: Transport.TCP, options: { host, port } })
  },
  overEngine('redis', nestOnRedis),
  overEngine('nats', nestOnNats, { service: withoutQueue }),
  overEngine('rabbitmq', nestOnRabbitmq, {
    service: (port, queue) => ({
      transport: Transport.RMQ,
      options: { urls: [`amqp://${host}:${port}`], queue, queueOptions: { durable: false } }
    }),
    client: (port, queue) => ({
      transport: Transport.RMQ,
      options: { urls: [`amqp://${host}:${port}`], queue, queueOptions: { durable: false } }
    })
  }),
  overEngine('mqtt', nestOnMqtt),
  overEngine('kafka', undefined, {
    async start() {
      const engine = await ENGINES.find((one) => one.name === 'kafka')!.start()
      const admin = new Kafka(ofKafka(engine.port)).admin()
      const topics = [...PATTERNS, ...PATTERNS.map((one) => `${one}.reply`), ...EVENTS]
      // NestJS's ends fail at their first start where topics are missing.
      await admin.createTopics({ topics: topics.map((topic) => ({ topic })), waitForLeaders: true })
      // A new broker makes the partitions of groups when it is asked for one, and kafkajs gives up before that.
      const groups = Array.from({ length: 32 }, (_, n) => `asked-${n}`)
      await firstValueFrom(defer(() => admin.describeGroups(groups)).pipe(retry({ delay: 100 })))
      await admin.disconnect()
      return engine
    },
    service: (port, groupId) => ({
      transport: Transport.KAFKA,
      options: { client: ofKafka(port), consumer: { groupId } }
    }),
    client: (port, groupId) => ({
      transport: Transport.KAFKA,
      options: { client: ofKafka(port), consumer: { groupId: `${groupId}-caller` } }
    })
  })
]

/** The data that handlers of events have got. */
export const seen = new Values<unknown>()
/** Ends the streams of handlers before a server closes, which NestJS does not. */
const closing = new Subject<void>()
/** Lets the handlers go on that wait. */
export const released = new Subject<void>()

const sumOf = ({ numbers }: { readonly numbers: readonly number[] }) => ({
  sum: numbers.reduce((one, other) => one + other, 0)
})

function controllerFor({ ends }: Network) {
  @Controller()
  class SumController {
    @MessagePattern('sum')
    sum(@Payload() data: { numbers: number[] }): unknown {
      return sumOf(data)
    }

    @MessagePattern('sumLater')
    async sumLater(@Payload() data: { numbers: number[] }): Promise<unknown> {
      return sumOf(data)
    }

    @MessagePattern('sumValues')
    async sumValues(@Payload() data: { numbers: number[] }): Promise<unknown> {
      return of(sumOf(data))
    }

    @MessagePattern('values')
    values(): unknown {
      return from([{ n: 1 }, { n: 2 }, { n: 3 }])
    }

    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return data
    }

    @MessagePattern('header')
    header(@Ctx() context: AnyContext): unknown {
      return {
        said: ends?.header(context as never, 'x-version') ?? null,
        qos: context.getPacket?.().qos ?? null
      }
    }

    @MessagePattern('endless')
    endless(): unknown {
      return concat(of({ n: 1 }), NEVER).pipe(takeUntil(closing))
    }

    @MessagePattern('held')
    held(@Ctx() context: AnyContext): unknown {
      context.getChannelRef().ack(context.getMessage())
      return { is: 'acknowledged' }
    }

    @EventPattern('noted')
    noted(@Payload() data: unknown): void {
      seen.put(data)
    }

    @EventPattern('blocking')
    async blocking(@Payload() _data: unknown): Promise<void> {
      seen.put('blocked')
      await firstValueFrom(released)
      seen.put('released')
    }
  }
  return SumController
}

/** Topics of Kafka have no wildcards. */
function wildControllerFor({ ends }: Network) {
  @Controller()
  class WildController {
    @MessagePattern(ends?.levels ? 'time/us/+' : 'time.us.*')
    time(@Payload() data: unknown, @Ctx() context: AnyContext): unknown {
      return { at: ends?.address(context as never), data }
    }

    @MessagePattern('$share/workers/jobs/+')
    job(@Payload() data: unknown): unknown {
      return data
    }
  }
  return WildController
}

/** Starts a server, from NestJS's own options. */
export async function serve(maker: Maker, network: Network, options: MicroserviceOptions) {
  class Root {}
  const controllers = [
    controllerFor(network),
    ...(network.name === 'kafka' ? [] : [wildControllerFor(network)])
  ]
  Module({ controllers })(Root)
  const given = maker === 'Nest' ? options : { strategy: new MicroserviceServer(options) }
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, { ...given, logger: false })
  await app.listen()
  let isClosed = false
  return {
    async close(): Promise<void> {
      if (isClosed) return
      isClosed = true
      closing.next()
      // NestJS loses what it sends in the turn in which it closes, and leaves connections open.
      await pause(50)
      await app.close()
    }
  }
}

/** Makes a client, from NestJS's own options. */
export function clientOf(maker: Maker, server: Maker, options: ClientOptions): ClientProxy {
  if (maker === 'Nest') return ClientProxyFactory.create(options) as ClientProxy
  const isBare = options.transport === Transport.TCP && server === 'Nest'
  const own = isBare ? { ...options, options: { ...options.options, protocol: 'nest' } } : options
  return OurFactory.create(own as ClientOptions) as ClientProxy
}

/** Connects a client, and waits until the server has its part of the topics. */
export async function ready(client: ClientProxy, { name }: Network): Promise<void> {
  if (name !== 'kafka') return
  for (const pattern of PATTERNS) (client as ClientKafka).subscribeToResponseOf(pattern)
  await client.connect()
  await firstValueFrom(
    client.send('echo', { is: 'ready' }).pipe(timeout(2_000), retry({ count: 60, delay: 100 }))
  )
}
