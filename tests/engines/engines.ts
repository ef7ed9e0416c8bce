/**
 * The only list of engines. Tests of what holds for every engine run over each entry of this list, as far as its
 * properties allow. A new engine adds one file of its own, and one entry at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  detourTo,
  type EngineOptions,
  NO_SERVER,
  type RunningEngine,
  type EngineUnderTest as SuiteEngine
} from '@elysia-microservices/engine-tests'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { isOnPush, pause } from '@elysia-microservices/test-support'
import { memory } from 'elysia-microservices'
import type { EngineProcess } from '../support/engine-process.ts'
import { kafkaMissing, sharedKafka } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { keepsIn, RedisServerProcess, redisMissing } from '../support/redis-server.ts'
import { underBun } from '../workspace.ts'
import { startHub } from './hub.ts'
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

/** An engine of this repository: what its suite, and all tests of what holds for every engine, must know of it. */
export interface EngineUnderTest extends SuiteEngine {
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
    return { ...NO_SERVER, transport: () => transport }
  }
}

/** Controls for a server that is a process of its own. */
const controlsOf = (server: EngineProcess) => ({
  detour: (port?: number) => detourTo(server.port, port),
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
  waitsApart: true,
  missing: natsMissing(),
  isStandIn: true,
  hasServer: true,
  isShipped: true,
  nest: nestOnNats,
  strangers: strangersOfNats,
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
          url: port === undefined ? server.url : `nats://127.0.0.1:${port}`,
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
        rabbitmq({ url: `amqp://127.0.0.1:${port}`, nest: { queue } }),
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
        kafka({ url: [`127.0.0.1:${port}`], advertised: false, partitions: 1 }),
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
  start: () => startHub(hub)
}

export type { EngineOptions, RunningEngine }

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
