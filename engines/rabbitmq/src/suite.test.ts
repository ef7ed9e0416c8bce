/** The suite of the seam over a server inside the process; tests/engines runs it over RabbitMQ. */
import { engineTests, overFake } from '@elysia-microservices/engine-tests'
import { rabbitmq, rabbitmqBy } from './rabbitmq.ts'
import { FakeRabbitServer } from './testing/fake-server.ts'

engineTests({
  name: 'rabbitmq',
  title: 'RabbitMQ',
  traits: rabbitmq().traits,
  carriage: 'packets',
  hasServer: true,
  hasQueuePerHandler: true,
  refuses: (pattern) =>
    pattern.split('.').includes('')
      ? 'a segment of it is empty; give each segment between dots a text'
      : undefined,
  async start() {
    const server = new FakeRabbitServer()
    return overFake(server, ({ port = server.port, queue } = {}) =>
      rabbitmqBy(server.driver, { url: `amqp://127.0.0.1:${port}`, nest: { queue } })
    )
  }
})
