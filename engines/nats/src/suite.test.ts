/** The suite of the seam over a server inside the process; tests/engines runs it over nats-server. */
import { engineTests, overFake } from '@elysia-microservices/engine-tests'
import { nats, natsBy } from './nats.ts'
import { FakeNatsServer } from './testing/fake-server.ts'

engineTests({
  name: 'nats',
  title: 'NATS',
  traits: nats().traits,
  carriage: 'packets',
  waitsApart: true,
  hasServer: true,
  async start() {
    const server = new FakeNatsServer()
    return overFake(server, ({ port = server.port, ackWait = 1_000 } = {}) =>
      natsBy(server.driver, { url: `nats://127.0.0.1:${port}`, durable: { ackWait } })
    )
  }
})
