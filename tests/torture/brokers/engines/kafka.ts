/** Torture over Kafka. */
import { kafka } from '@elysia-microservices/kafka'
import { until } from '@elysia-microservices/test-support'
import { Admin } from '@platformatic/kafka'
import { Kafka, logLevel } from 'kafkajs'
import { KafkaServerProcess, kafkaMissing } from '../../../support/kafka-server.ts'
import { type Broker, countListed } from '../engine.ts'

/** The number of partitions: this many processes have work. */
const PARTITIONS = 4

/** Settings with which a server keeps only a little: fast streams would fill a disk within minutes. */
const SMALL_LOGS = {
  'log.segment.bytes': 64 * 1024 * 1024,
  'log.retention.bytes': 256 * 1024 * 1024,
  'log.retention.check.interval.ms': 1_000,
  'log.segment.delete.delay.ms': 1_000
}

export const onKafka: Broker = {
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
  transport: (urls) => kafka({ url: urls.map(brokerAt), partitions: PARTITIONS }),
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
