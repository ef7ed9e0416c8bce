/**
 * The echo with @platformatic/kafka alone, used for speed: batches, one topic, JSON read and written as an
 * application would.
 */
import { Consumer } from '@platformatic/kafka'
import { runServer } from '../run-server.ts'
import { collectedSends } from './collected.ts'
import { startKafka } from './kafka-server.ts'
import { makeTopics } from './topics.ts'

await runServer(7083, async ({ host, port }) => {
  const server = await startKafka(host, port)
  const broker = `${host}:${server.port}`
  await makeTopics(broker, ['echo', 'answers'])
  const answers = collectedSends(broker)
  // A broker that has just started has no coordinator yet.
  const consumer = new Consumer({
    groupId: 'echo',
    clientId: 'bare',
    bootstrapBrokers: [broker],
    retries: 60
  })
  const stream = await consumer.consume({
    topics: ['echo'],
    mode: 'latest',
    autocommit: true,
    maxWaitTime: 500
  })
  stream.on('data', ({ key, value }) => {
    answers.send({ topic: 'answers', key: String(key), value: JSON.stringify(JSON.parse(String(value))) })
  })
  return {
    port: server.port,
    async stop() {
      await consumer.close(true)
      await answers.close()
      await server.stop()
    }
  }
})
