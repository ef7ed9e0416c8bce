/**
 * The only list of engines: what is true of every one of them is tested over whatever stands here, as far as its traits
 * allow. A new engine adds one file of its own and one line at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { freePort } from '@elysia-microservices/test-support'
import { memory, type Transport } from 'elysia-microservices'
import type { EngineProcess } from '../support/engine-process.ts'
import { kafkaMissing, sharedKafka } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { keepsIn, RedisServerProcess, redisMissing } from '../support/redis-server.ts'
import { pause } from '../support/within.ts'
import { underBun } from '../workspace.ts'
import { Hub } from './hub.ts'
import { hub } from './hub-engine.ts'
import { type NestEnds, nestOnMqtt, nestOnNats, nestOnRabbitmq, nestOnRedis } from './nest-ends.ts'
import {
  type StrangersOf,
  strangersOfHub,
  strangersOfMqtt,
  strangersOfNats,
  strangersOfRabbitmq,
  strangersOfRedis
} from './stranger.ts'
import { strangersOfKafka } from './stranger-kafka.ts'

/** Options of an engine's transport in tests. */
export interface EngineOptions {
  /** The port of its server, if it is another: nothing listens there, or something that looks on. */
  readonly port?: number
  /** Milliseconds without a sign of life until a durable event is delivered again. Default: 1,000. */
  readonly ackWait?: number
  /** The queue of Nest's ends, where an engine's messages have one. Default: none. */
  readonly queue?: string | undefined
}

/** An engine. */
export interface EngineUnderTest {
  /** The name of its transport. */
  readonly name: string
  /** Its name in texts. */
  readonly title: string
  readonly traits: Transport['traits']
  /** The form in which data travels: encoded by our codecs, or as Nest's JSON packets, as over `transport/engine`. */
  readonly carriage: 'codecs' | 'packets'
  /** The programs that this machine lacks to run it, in words; `undefined` if none. */
  readonly missing?: string | undefined
  /** It has a server that can be lost, held up and found again. */
  readonly hasServer: boolean
  /** Its server keeps a queue for each handler, so a request may overtake an event of another pattern. */
  readonly hasQueuePerHandler?: true
  /** Processes of a group share durable events by partition: one goes over when what runs of it has ended. */
  readonly sharesByPartition?: true
  /** A message that is not JSON is the data of an event there, as for Nest's own services: devices send texts. */
  readonly takesText?: true
  /** A message takes it so long that on a push strangers and hostile code leave it out: they try the dialogue, which is shared. */
  readonly isSlow?: true
  /** It is part of what is published, and stands in the documentation. */
  readonly isShipped: boolean
  /** Nest's own transport over it; missing: Nest has none. */
  readonly nest?: NestEnds
  /** Nest has a transport over it whose wire differs so that it is tested by itself. */
  readonly hasNest?: true
  /** Others may publish there; missing: only what is in the process. */
  readonly strangers?: StrangersOf
  /** Why it has no address for a pattern; `undefined`: it has one. Default: it has one for every pattern. */
  refuses?(pattern: string): string | undefined
  /** Where errors say that a server is expected. Default: `127.0.0.1:` and the port */
  expectedAt?(port: number): string
  start(): Promise<RunningEngine>
}

/** An engine that runs, until `close`. */
export interface RunningEngine {
  /** The port of its server; 0 if it has none. */
  readonly port: number
  /** The transport, for a service or for clients. */
  transport(options?: EngineOptions): Transport
  /** Its server is gone at once, with all connections; what it has stored stays. */
  stop(): Promise<void>
  /** It is there again. */
  start(): Promise<void>
  /** Connections stay, and nothing moves. */
  suspend(): void
  resume(): void
  /** Ends it, with all that it has stored. */
  close(): Promise<void>
}

const none = () => {
  throw new Error('This engine has no server')
}

const inMemory: EngineUnderTest = {
  name: 'memory',
  title: 'memory',
  traits: memory().traits,
  carriage: 'codecs',
  hasServer: false,
  isShipped: true,
  async start() {
    // Both ends must have the same value.
    const transport = memory()
    return {
      port: 0,
      transport: () => transport,
      stop: none,
      start: none,
      suspend: none,
      resume: none,
      async close() {}
    }
  }
}

/** A server that is a process of its own, as a running engine has it. */
const controlsOf = (server: EngineProcess) => ({
  stop: () => server.stop(),
  start: () => server.start(),
  suspend: () => server.signal('SIGSTOP'),
  resume: () => server.signal('SIGCONT')
})

const onNats: EngineUnderTest = {
  name: 'nats',
  title: 'NATS',
  traits: nats().traits,
  carriage: 'packets',
  missing: natsMissing(),
  hasServer: true,
  isShipped: true,
  nest: nestOnNats,
  strangers: strangersOfNats,
  expectedAt: (port) => `nats://127.0.0.1:${port}`,
  refuses(pattern) {
    if (/\s/.test(pattern)) return "it has a blank; write '-' or '_' in its place"
    if (pattern.split('.').includes(''))
      return 'a segment of it is empty; give each segment between dots a text'
    return undefined
  },
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'engine-'))
    const server = await NatsServerProcess.start('-js', '-sd', folder)
    return {
      port: server.port,
      transport: ({ port, ackWait = 1_000 } = {}) =>
        nats({
          servers: port === undefined ? server.url : `nats://127.0.0.1:${port}`,
          // Otherwise a client that is given a port learns the server's own from the server.
          ignoreClusterUpdates: port !== undefined,
          durable: { ackWait }
        }),
      ...controlsOf(server),
      async close() {
        await server.stop()
        await rm(folder, { recursive: true })
      }
    }
  }
}

const onRedis: EngineUnderTest = {
  name: 'redis',
  title: 'Redis',
  traits: redis().traits,
  carriage: 'packets',
  missing: redisMissing(),
  hasServer: true,
  isShipped: true,
  nest: nestOnRedis,
  strangers: strangersOfRedis,
  refuses: (pattern) =>
    pattern.split('.').includes('')
      ? 'a segment of it is empty; give each segment between dots a text'
      : undefined,
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'engine-'))
    const server = await RedisServerProcess.start(...keepsIn(folder))
    return {
      port: server.port,
      transport: ({ port = server.port, ackWait = 1_000 } = {}) =>
        redis({ url: `redis://127.0.0.1:${port}`, durable: { ackWait } }),
      ...controlsOf(server),
      async close() {
        await server.stop()
        await rm(folder, { recursive: true })
      }
    }
  }
}

const onRabbitmq: EngineUnderTest = {
  name: 'rabbitmq',
  title: 'RabbitMQ',
  traits: rabbitmq().traits,
  carriage: 'packets',
  missing: rabbitmqMissing(),
  hasServer: true,
  hasQueuePerHandler: true,
  isShipped: true,
  nest: nestOnRabbitmq,
  strangers: strangersOfRabbitmq,
  refuses: (pattern) =>
    pattern.split('.').includes('')
      ? 'a segment of it is empty; give each segment between dots a text'
      : undefined,
  async start() {
    // It takes seconds to start, and nothing of one test is left for the next: queues go with those who use them.
    const server = await sharedRabbitmq()
    return {
      port: server.port,
      transport: ({ port = server.port, queue } = {}) =>
        rabbitmq({ urls: `amqp://127.0.0.1:${port}`, queue }),
      ...controlsOf(server),
      async stop() {
        // Of 3.10 a quorum queue that was made in the same second has no leader any more: its term is not on the disk.
        await pause(1_000)
        await server.stop()
      },
      async close() {}
    }
  }
}

const onMqtt: EngineUnderTest = {
  name: 'mqtt',
  title: 'MQTT',
  traits: mqtt().traits,
  carriage: 'packets',
  missing: mosquittoMissing(),
  hasServer: true,
  takesText: true,
  isShipped: true,
  nest: nestOnMqtt,
  strangers: strangersOfMqtt,
  refuses: (pattern) => (pattern === '' ? 'it is empty; give it a text' : undefined),
  async start() {
    const server = await MosquittoProcess.start()
    return {
      port: server.port,
      transport: ({ port = server.port } = {}) => mqtt({ url: `mqtt://127.0.0.1:${port}` }),
      ...controlsOf(server),
      close: () => server.stop()
    }
  }
}

const onKafka: EngineUnderTest = {
  name: 'kafka',
  title: 'Kafka',
  traits: kafka().traits,
  carriage: 'packets',
  missing: kafkaMissing(),
  hasServer: true,
  hasQueuePerHandler: true,
  sharesByPartition: true,
  isSlow: true,
  hasNest: true,
  strangers: strangersOfKafka,
  isShipped: true,
  refuses: (pattern) =>
    pattern === ''
      ? 'it is empty; give it a text'
      : /^[\w.-]+$/.test(pattern)
        ? undefined
        : "it is no name of a topic; use letters, digits, '.', '_' and '-'",
  async start() {
    // It takes seconds to start, and tests have patterns of their own where something could be left.
    const server = await sharedKafka()
    return {
      port: server.port,
      // The server gives its own address: a link is not gone around.
      transport: ({ port = server.port } = {}) =>
        kafka({ brokers: [`127.0.0.1:${port}`], advertised: false, partitions: 1 }),
      ...controlsOf(server),
      async close() {}
    }
  }
}

const onHub: EngineUnderTest = {
  name: 'hub',
  title: 'Hub',
  traits: hub(0).traits,
  carriage: 'packets',
  hasServer: true,
  isShipped: false,
  strangers: strangersOfHub,
  refuses: (pattern) =>
    pattern.split('.').includes('') ? 'a segment is empty, or it begins with _' : undefined,
  async start() {
    const server = new Hub(await freePort())
    await server.start()
    return {
      port: server.port,
      transport: ({ port = server.port } = {}) => hub(port),
      stop: () => server.stop(),
      start: () => server.start(),
      suspend: () => server.suspend(),
      resume: () => server.resume(),
      close: () => server.stop()
    }
  }
}

export const ENGINES: readonly EngineUnderTest[] = [
  inMemory,
  onNats,
  onHub,
  onRedis,
  onRabbitmq,
  onMqtt,
  onKafka
]

/** Whether the tests run on a push, and not at night or by hand. */
export const isOnPush = process.env['ENGINES'] === 'shared'

/**
 * Those that this process tries. On a push (`ENGINES=shared`) Bun and Node share the engines that have a server: what both
 * would try twice is the dialogue, and each driver has tests of its own under both. Otherwise: all.
 */
export const TRIED_ENGINES: readonly EngineUnderTest[] = isOnPush
  ? ENGINES.filter(({ hasServer }, place) => !hasServer || (place % 2 === 0) === underBun)
  : ENGINES
