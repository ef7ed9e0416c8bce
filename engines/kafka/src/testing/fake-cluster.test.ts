/** The fake keeps what the driver's interface promises; tests/kafka/driver.nightly.test.ts runs the same cases over Kafka. */
import { ManualClock } from '@elysia-microservices/transport/kit'
import { writeRecord } from '../words/record.ts'
import { driverCases } from './driver-cases.ts'
import { FakeCluster } from './fake-cluster.ts'

const clock = new ManualClock(1_000)
const cluster = new FakeCluster({ clock, heartbeatInterval: 200, sessionTimeout: 3_000 })
cluster.strangers.add('stranger')
cluster.password = 'secret'
driverCases('the fake', async () => ({
  driver: cluster.driver,
  port: cluster.port,
  stranger: { port: cluster.port, username: 'stranger', password: 'secret' },
  async restart() {
    cluster.stop()
    cluster.start()
  },
  async begin(topic) {
    const producer = cluster.newProducer()
    const log = cluster.log(topic)
    return {
      send: async (text) => log.appendTo(producer, [writeRecord(undefined, text)], clock.now()),
      commit: async () => log.endOf(producer, true, clock.now()),
      abort: async () => log.endOf(producer, false, clock.now())
    }
  },
  deleteUpTo: async (topic, position) => cluster.log(topic).deleteUpTo(position),
  pass: (milliseconds) => clock.advance(milliseconds)
}))
