/**
 * The only list of engines. Tests of what holds for every engine run over each entry of this list, as far as its
 * properties allow. A new engine adds one file of its own, and one entry at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { freePort, isOnPush } from '@elysia-microservices/test-support'
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
  /**
   * The port of the server, if it differs: nothing listens on this port, or a link that records or interrupts
   * connections.
   */
  readonly port?: number
  /** Milliseconds without a sign of life after which a durable event is delivered again. Default: 1,000. */
  readonly ackWait?: number
  /** The queue that NestJS clients and services use, if the engine's messages need one. Default: none. */
  readonly queue?: string | undefined
}

/** An engine. */
export interface EngineUnderTest {
  /** The name of the transport. */
  readonly name: string
  /** The name in documentation and logs. */
  readonly title: string
  readonly traits: Transport['traits']
  /** The form in which data travels: encoded by our codecs, or as Nest's JSON packets, as over `engines/engine`. */
  readonly carriage: 'codecs' | 'packets'
  /** The programs that this machine lacks to run the engine; `undefined`: none. */
  readonly missing?: string | undefined
  /** Whether the engine has a server that can be stopped, suspended and started again. */
  readonly hasServer: boolean
  /** Whether the server keeps a queue for each handler, so that a request may overtake an event of another pattern. */
  readonly hasQueuePerHandler?: true
  /**
   * Whether processes of a group share durable events by partition: a partition moves to another process when its
   * running handlers have ended.
   */
  readonly sharesByPartition?: true
  /** Whether a message that is not JSON is the data of an event, as for NestJS services: devices send plain text. */
  readonly takesText?: true
  /** The step that needs so much of a processor that it is only done at night: a server starts, or starts again. */
  readonly slow?: 'start' | 'restart'
  /** Whether other suites than this folder's test over this engine, on a push, what all engines share. */
  readonly isStandIn?: true
  /** Whether the engine is published and documented. */
  readonly isShipped: boolean
  /** NestJS's transport for the engine; `undefined`: NestJS has none. */
  readonly nest?: NestEnds
  /** Whether NestJS has a transport for the engine whose protocol differs so much that it is tested separately. */
  readonly hasNest?: true
  /** Programs of others that publish on the engine; `undefined`: all messages stay inside the process. */
  readonly strangers?: StrangersOf
  /** Why the engine has no address for a pattern; `undefined`: it has one. Default: it has one for every pattern. */
  refuses?(pattern: string): string | undefined
  /** The address of the server in errors. Default: `127.0.0.1:` and the port */
  expectedAt?(port: number): string
  start(): Promise<RunningEngine>
}

/** A running engine, until `close` is called. */
export interface RunningEngine {
  /** The port of the server; 0: there is no server. */
  readonly port: number
  /** The transport, for a service or for clients. */
  transport(options?: EngineOptions): Transport
  /** Stops the server at once, with all connections; what it has stored stays. */
  stop(): Promise<void>
  /** Starts the server again. */
  start(): Promise<void>
  /** Suspends the server: connections stay, but no message moves. */
  suspend(): void
  resume(): void
  /** Ends the engine, and deletes all that it has stored. */
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
  isStandIn: true,
  isShipped: true,
  async start() {
    // The service and its clients must share one value.
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

/** Controls for a server that is a process of its own. */
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
  isStandIn: true,
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
          // With a given port, the client must not learn the real port from the server.
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
  slow: 'restart',
  isShipped: true,
  nest: nestOnRabbitmq,
  strangers: strangersOfRabbitmq,
  refuses: (pattern) =>
    pattern.split('.').includes('')
      ? 'a segment of it is empty; give each segment between dots a text'
      : undefined,
  async start() {
    // All tests use one server, because a server takes seconds to start. Nothing of one test is left for the next,
    // because queues are deleted with their users.
    const server = await sharedRabbitmq()
    return {
      port: server.port,
      transport: ({ port = server.port, queue } = {}) =>
        rabbitmq({ urls: `amqp://127.0.0.1:${port}`, queue }),
      ...controlsOf(server),
      async stop() {
        // In RabbitMQ 3.10, a quorum queue that was created within the last second has no leader after a restart,
        // because its state is not on disk yet.
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
  slow: 'start',
  hasNest: true,
  strangers: strangersOfKafka,
  isShipped: true,
  refuses: (pattern) =>
    pattern === ''
      ? 'it is empty; give it a text'
      : /^[\w.-]+$/.test(pattern)
        ? undefined
        : "it is not a valid name of a topic; use letters, digits, '.', '_' and '-'",
  async start() {
    // One server for all tests, because it takes seconds to start. Tests use patterns of their own where something
    // could be left.
    const server = await sharedKafka()
    return {
      port: server.port,
      // With the option `advertised`, clients connect only to the given address, and so do not bypass a link.
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
  isStandIn: true,
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

/**
 * The engines that this process tests. On a push, Bun and Node share them: both would test the same protocol code, and
 * each driver has tests of its own on both.
 */
export const TRIED_ENGINES = isOnPush
  ? ENGINES.filter(({ slow }, place) => slow !== 'start' && (place % 2 === 0) === underBun)
  : ENGINES

/** The engines over which suites in other folders test what all engines share: few on a push, otherwise all. */
export const STAND_INS = TRIED_ENGINES.filter(({ isStandIn }) => isStandIn === true || !isOnPush)
