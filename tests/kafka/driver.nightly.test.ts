/** The driver over Kafka keeps what its interface promises; the fake of it passes the same cases. */
import { after } from 'node:test'
import { driverCases, platformatic } from '@elysia-microservices/kafka/testing'
import { isMissing, pause } from '@elysia-microservices/test-support'
import { Admin, Producer, stringSerializers } from '@platformatic/kafka'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'

let starting: Promise<KafkaServerProcess> | undefined
let count = 0
after(async () => (await starting)?.stop())

if (!isMissing('the driver of Kafka', kafkaMissing()))
  driverCases('Kafka', async () => {
    starting ??= KafkaServerProcess.start({
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The cases without credentials, and the broker itself.
      'super.users': 'User:ANONYMOUS'
    })
    const server = await starting
    const at = { clientId: 'cases', bootstrapBrokers: [server.broker] }
    return {
      driver: platformatic,
      port: server.port,
      stranger: { port: server.saslPort, username: 'caller', password: 'secret-of-caller' },
      async restart() {
        await server.stop()
        await server.start()
      },
      async begin(topic) {
        const producer = new Producer({
          ...at,
          idempotent: true,
          transactionalId: `cases ${++count}`,
          serializers: stringSerializers
        })
        const transaction = await producer.beginTransaction()
        return {
          send: (value) => transaction.send({ messages: [{ topic, value }] }),
          commit: () => transaction.commit().finally(() => producer.close()),
          abort: () => transaction.abort().finally(() => producer.close())
        }
      },
      async deleteUpTo(topic, position) {
        const admin = new Admin(at)
        const partitions = [{ partition: 0, offset: BigInt(position) }]
        await admin.deleteRecords({ topics: [{ name: topic, partitions }] })
        await admin.close()
      },
      pass: pause
    }
  })
