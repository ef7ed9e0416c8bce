/** The engines of the torture suite, with the functions that the plans need. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { connect as connectBare } from '@nats-io/transport-node'
import { Admin } from '@platformatic/kafka'
import { type Channel, connect as connectToRabbitmq } from 'amqplib'
import type { Transport } from 'elysia-microservices'
import { deadLetters, type UntypedClient } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import type { EngineProcess } from '../../support/engine-process.ts'
import { KafkaServerProcess, kafkaMissing } from '../../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../../support/nats-server.ts'
import { RabbitmqServerProcess, rabbitmqMissing } from '../../support/rabbitmq-server.ts'
import { keepsIn, RedisServerProcess, redisMissing } from '../../support/redis-server.ts'
import { MASTER, WatchedRedis } from '../../support/redis-watched.ts'
import { until } from '../../support/within.ts'

/** A server, with its address. */
export type BrokerServer = EngineProcess & { readonly url: string }

/** Options of a transport, for engines that have them. */
export interface TransportOptions {
  /** The number of copies of stored events. */
  readonly replicas?: number
  /** Milliseconds without a sign of life after which a durable event is delivered again. */
  readonly ackWait?: number
  /** Milliseconds between PINGs to the server. */
  readonly pingInterval?: number
  /** The name of the connection; the server allows only one connection with a name. */
  readonly clientId?: string
}

/** An engine under torture. */
export interface Broker {
  readonly name: string
  readonly title: string
  readonly missing: string | undefined
  /** The scheme of the engine's addresses. Default: the name of the engine. */
  readonly scheme?: string
  /**
   * Starts a server, or several as one cluster. @param store the folder for events; `undefined`: the server stores no
   * events
   */
  start(nodes: number, store?: string): Promise<readonly BrokerServer[]>
  transport(urls: readonly string[], options?: TransportOptions): Transport
  /** Deletes the stream of a pattern, or the group `torture` in it, as an operator does. */
  delete(url: string, what: 'stream' | 'group', pattern: string): Promise<void>
  /**
   * Whether there are clusters in which each server has a copy; `only`: only one server is under test, and others
   * take over.
   */
  readonly hasCluster: boolean | 'only'
  /** Kills the server on which all others depend, and starts it again after another server has replaced it. */
  failOver?(servers: readonly BrokerServer[]): Promise<void>
  /** Milliseconds after which declared queues survive the loss of their server. Default: none. */
  readonly settlesIn?: number
  /**
   * The megabytes that the server may need, if it only collects garbage when they are used up. Default: 128 more than
   * at the beginning.
   */
  readonly heap?: number
  /** Whether the engine stores no events. */
  readonly storesNothing?: true
  /** Whether the engine stores events also without a group. */
  readonly hasLog: boolean
  /** Whether its logs have partitions, which move between processes; then a group with members cannot be deleted. */
  readonly hasPartitions?: true
  /** The number of dead letters of the group `torture`. */
  countDeadLetters(client: UntypedClient, url: string): Promise<number>
}

/** The number of dead letters, for engines that can list them. */
async function countListed(client: UntypedClient): Promise<number> {
  let count = 0
  for await (const _ of deadLetters(client, 'torture').list()) count++
  return count
}

const onNats: Broker = {
  name: 'nats',
  title: 'NATS',
  missing: natsMissing(),
  hasCluster: true,
  hasLog: true,
  countDeadLetters: countListed,
  async start(nodes, store) {
    const stores = (folder: string) => (store === undefined ? [] : ['-js', '-sd', join(store, folder)])
    return nodes === 1
      ? [await NatsServerProcess.start(...stores('.'))]
      : NatsServerProcess.cluster(nodes, (n) => ['-n', `n${n}`, ...stores(`n${n}`)])
  },
  transport: (urls, { pingInterval, ...durable } = {}) =>
    nats({ servers: [...urls], durable, ...(pingInterval !== undefined && { pingInterval }) }),
  async delete(url, what, pattern) {
    const bare = await connectBare({ servers: [url] })
    const name = pattern.replace('.', '_')
    const subject = what === 'stream' ? `STREAM.DELETE.${name}` : `CONSUMER.DELETE.${name}.torture_${name}`
    // The stream does not exist: no service has created it again since the last deletion.
    await bare.request(`$JS.API.${subject}`, '', { timeout: 10_000 })
    await bare.close()
  }
}

const onRedis: Broker = {
  name: 'redis',
  title: 'Redis',
  missing: redisMissing(),
  hasCluster: false,
  hasLog: true,
  countDeadLetters: countListed,
  start: async (_nodes, store) => [
    await RedisServerProcess.start(...(store === undefined ? [] : keepsIn(store)))
  ],
  transport: ([url], { ackWait } = {}) => redis({ url, durable: { ackWait } }),
  async delete(url, what, pattern) {
    const bare = new Redis(url)
    const stream = `_elysia:{events}:s:${pattern}`
    if (what === 'stream') await bare.del(stream)
    else await bare.xgroup('DESTROY', stream, 'torture').catch(() => {})
    bare.disconnect()
  }
}

const onSentinel: Broker = {
  ...onRedis,
  name: 'redis-sentinel',
  title: 'Redis with a sentinel',
  scheme: 'sentinel',
  hasCluster: 'only',
  start: (nodes, store) =>
    WatchedRedis.startAll(nodes, (n) => {
      if (store === undefined) return []
      const folder = join(store, `n${n}`)
      mkdirSync(folder)
      return keepsIn(folder)
    }),
  transport: ([url = ''], { ackWait, replicas = 1 } = {}) =>
    redis({
      sentinels: [{ host: '127.0.0.1', port: Number(new URL(url).port) }],
      name: MASTER,
      // With three copies, two are left on other servers when one is killed.
      durable: { ackWait, replicas: Math.min(replicas, 2) }
    }),
  failOver: (servers) => WatchedRedis.failOver(servers as readonly WatchedRedis[])
}

const onRabbitmq: Broker = {
  name: 'rabbitmq',
  title: 'RabbitMQ',
  scheme: 'amqp',
  // In RabbitMQ 3.10, a quorum queue that was created within the last second has no leader after a restart, because
  // its state is not on disk yet.
  settlesIn: 3_000,
  missing: rabbitmqMissing(),
  hasCluster: true,
  hasLog: false,
  start: (nodes) => RabbitmqServerProcess.cluster(nodes),
  transport: (urls) => rabbitmq({ urls }),
  countDeadLetters: (_, url) =>
    atRabbitmq(url, async (channel) => (await channel.checkQueue('_elysia.dead.torture')).messageCount),
  delete: (url, _what, pattern) =>
    atRabbitmq(url, async (channel) => void (await channel.deleteQueue(`_elysia.d.torture:${pattern}`)))
}

async function atRabbitmq<Value>(url: string, task: (channel: Channel) => Promise<Value>): Promise<Value> {
  const connection = await connectToRabbitmq(url)
  try {
    return await task(await connection.createChannel())
  } finally {
    await connection.close()
  }
}

/** The number of partitions: this many processes have work. */
const PARTITIONS = 4

/** Settings with which a server keeps only a little: fast streams would fill a disk within minutes. */
const SMALL_LOGS = {
  'log.segment.bytes': 64 * 1024 * 1024,
  'log.retention.bytes': 256 * 1024 * 1024,
  'log.retention.check.interval.ms': 1_000,
  'log.segment.delete.delay.ms': 1_000
}

const onKafka: Broker = {
  name: 'kafka',
  title: 'Kafka',
  missing: kafkaMissing(),
  hasCluster: true,
  hasLog: true,
  hasPartitions: true,
  // `-Xmx512m`, and the memory that a JVM needs besides its heap.
  heap: 768,
  countDeadLetters: countListed,
  start: async (nodes) =>
    nodes === 1 ? [await KafkaServerProcess.start(SMALL_LOGS)] : KafkaServerProcess.cluster(),
  transport: (urls) => kafka({ brokers: urls.map(brokerAt), partitions: PARTITIONS }),
  delete: (url, what, pattern) =>
    what === 'stream'
      ? deleteTopic(url, pattern)
      : atKafka(url, (admin) => admin.deleteGroups([`torture.${pattern}`]).then(() => {}))
}

/**
 * Deletes a topic, if it exists. Resolves when its broker knows of the deletion: until then, the broker stores events
 * that are lost with the topic.
 */
async function deleteTopic(url: string, topic: string): Promise<void> {
  const admin = new Admin({ clientId: 'operator', bootstrapBrokers: [brokerAt(url)] })
  try {
    const id = async () => {
      const known = await admin.metadata({ topics: [topic], forceUpdate: true }).catch(() => undefined)
      return known?.topics.get(topic)?.id
    }
    const before = await id()
    if (before === undefined) return
    await admin.deleteTopics({ topics: [topic] })
    await until('The topic is gone', async () => (await id()) !== before)
  } finally {
    await admin.close()
  }
}

function brokerAt(url: string): string {
  return url.slice('kafka://'.length)
}

type KafkaAdmin = ReturnType<Kafka['admin']>

async function atKafka(url: string, task: (admin: KafkaAdmin) => Promise<void>): Promise<void> {
  const admin = new Kafka({ brokers: [brokerAt(url)], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    await task(admin)
  } finally {
    await admin.disconnect()
  }
}

/** Adds partitions to a topic of Kafka. */
export function addPartitions(url: string, topic: string, count: number): Promise<void> {
  return atKafka(url, async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const total = count + (topics[0]?.partitions.length ?? 0)
    await admin.createPartitions({ topicPartitions: [{ topic, count: total }] })
  })
}

/** For an engine that stores no events. */
const none = () => Promise.reject(new Error('MQTT stores no events'))

const onMqtt: Broker = {
  name: 'mqtt',
  title: 'MQTT',
  storesNothing: true,
  missing: mosquittoMissing(),
  hasCluster: false,
  hasLog: false,
  start: async () => [await MosquittoProcess.start()],
  transport: ([url], { clientId } = {}) => mqtt({ url, clientId }),
  countDeadLetters: none,
  delete: none
}

/** All engines under torture. */
const BROKERS: readonly Broker[] = [onNats, onRedis, onSentinel, onRabbitmq, onMqtt, onKafka]

/** The engine to which an address belongs. */
export function brokerOf(url: string): Broker {
  return BROKERS.find(({ name, scheme = name }) => url.startsWith(`${scheme}:`)) as Broker
}

/**
 * The engines that this machine can run; in CI, a missing one is a failure. @param what what is reported as left out
 */
export function tortured(what: string): readonly Broker[] {
  return BROKERS.filter(({ title, missing }) => {
    if (missing !== undefined) console.log(`Left out: ${what} over ${title}: there is no ${missing}`)
    return missing === undefined || process.env['CI'] !== undefined
  })
}
