/**
 * The only list of engines. Tests of what holds for every engine run over each entry of this list, as far as its
 * properties allow. A new engine adds one file of its own, and one entry at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineOptions, RunningEngine } from '@elysia-microservices/engine-tests'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import {
  isOnPush,
  keepsIn,
  pause,
  RedisServerProcess,
  redisMissing
} from '@elysia-microservices/test-support'
import { kafkaMissing, sharedKafka } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { underBun } from '../workspace.ts'
import { nestOnMqtt, nestOnRabbitmq, nestOnRedis } from './nest-ends.ts'
import { controlsOf, type EngineUnderTest, inMemory, onHub, onNats } from './shared-engines.ts'
import { strangersOfMqtt, strangersOfRabbitmq, strangersOfRedis } from './stranger.ts'
import { strangersOfKafka } from './stranger-kafka.ts'

const onRedis: EngineUnderTest = {
  name: 'redis',
  title: 'Redis',
  traits: redis().traits,
  carriage: 'packets',
  get missing() {
    return redisMissing()
  },
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
  get missing() {
    return rabbitmqMissing()
  },
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
  get missing() {
    return mosquittoMissing()
  },
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
  get missing() {
    return kafkaMissing()
  },
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

export type { EngineOptions, EngineUnderTest, RunningEngine }

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
