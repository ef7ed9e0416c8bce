/** The suite of the seam over a server inside the process; tests/engines runs it over redis-server. */
import { engineTests, overFake } from '@elysia-microservices/engine-tests'
import { redis, redisBy } from './redis.ts'
import { FakeRedisServer } from './testing/fake-server.ts'

engineTests({
  name: 'redis',
  title: 'Redis',
  traits: redis().traits,
  carriage: 'packets',
  hasServer: true,
  async start() {
    const server = new FakeRedisServer()
    return overFake(server, ({ port = server.port, ackWait = 1_000 } = {}) =>
      redisBy(server.driver, { url: `redis://127.0.0.1:${port}`, durable: { ackWait } })
    )
  }
})
