/** The fake keeps what the driver's interface promises; tests/nats/driver.test.ts runs the same cases over nats-server. */
import { ManualClock } from '@elysia-microservices/transport/kit'
import { driverCases } from './driver-cases.ts'
import { FakeNatsServer } from './fake-server.ts'

const clock = new ManualClock(Date.now())
const server = new FakeNatsServer({ clock })
server.forbidden.add('cases.forbidden')
driverCases('the fake', async () => ({
  driver: server.driver,
  url: 'nats://127.0.0.1:4222',
  async restart() {
    server.stop()
    server.start()
  },
  pass: (milliseconds) => clock.advance(milliseconds)
}))
