/** The suite of the seam over a server inside the process; tests/engines runs it over nats-server. */
import { engineTests } from '@elysia-microservices/engine-tests'
import { nats, natsBy } from './nats.ts'
import { FakeNatsServer } from './testing/fake-server.ts'

engineTests({
  name: 'nats',
  title: 'NATS',
  traits: nats().traits,
  carriage: 'packets',
  hasServer: true,
  async start() {
    const server = new FakeNatsServer()
    return {
      port: server.port,
      transport: ({ port = server.port, ackWait = 1_000 } = {}) =>
        natsBy(server.driver, { url: `nats://127.0.0.1:${port}`, durable: { ackWait } }),
      stop: async () => server.stop(),
      start: async () => server.start(),
      suspend: () => server.suspend(),
      resume: () => server.resume(),
      async detour(port = 4_223) {
        const detour = server.detour(port)
        return { port, stop: async () => detour.stop() }
      },
      close: async () => server.stop()
    }
  }
})
