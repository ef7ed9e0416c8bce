/** The fake keeps what the driver's interface promises; connection/ioredis.test.ts runs the same cases over redis-server. */
import { ManualClock } from '@elysia-microservices/transport/kit'
import { driverCases } from './driver-cases.ts'
import { FakeRedisServer } from './fake-server.ts'

const clock = new ManualClock(1_700_000_000_000)
const server = new FakeRedisServer({ clock })
driverCases('the fake', async () => ({
  driver: server.driver,
  url: 'redis://127.0.0.1:6379',
  async restart() {
    server.stop()
    server.start()
  },
  pass: (milliseconds) => clock.advance(milliseconds)
}))
