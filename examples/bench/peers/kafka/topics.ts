/** Creates topics with one partition, which NestJS and the driver need before they start. */
import { Kafka, logLevel } from 'kafkajs'

export async function makeTopics(broker: string, names: readonly string[]): Promise<void> {
  const admin = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  await admin.createTopics({
    topics: names.map((topic) => ({ topic, numPartitions: 1 })),
    waitForLeaders: true
  })
  await admin.disconnect()
}
