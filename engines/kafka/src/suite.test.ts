/** The suite of the seam over brokers inside the process; tests/engines runs it over Kafka. */
import { engineTests, overFake } from '@elysia-microservices/engine-tests'
import { kafka, kafkaBy } from './kafka.ts'
import { FakeCluster } from './testing/fake-cluster.ts'

engineTests({
  name: 'kafka',
  title: 'Kafka',
  traits: kafka().traits,
  carriage: 'packets',
  hasServer: true,
  hasQueuePerHandler: true,
  sharesByPartition: true,
  refuses: (pattern) =>
    pattern === ''
      ? 'it is empty; give it a text'
      : /^[\w.-]+$/.test(pattern)
        ? undefined
        : "it is not a valid name of a topic; use letters, digits, '.', '_' and '-'",
  async start() {
    const server = new FakeCluster({ heartbeatInterval: 50 })
    return overFake(server, ({ port = server.port } = {}) =>
      kafkaBy(server.driver, { url: [`127.0.0.1:${port}`], advertised: false, partitions: 1 })
    )
  }
})
