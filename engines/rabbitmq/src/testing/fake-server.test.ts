/** The fake keeps what the driver's interface promises; tests/rabbitmq runs the same cases over RabbitMQ. */
import { driverCases } from './driver-cases.ts'
import { FakeRabbitServer } from './fake-server.ts'

const server = new FakeRabbitServer()
driverCases('the fake', async () => ({
  driver: server.driver,
  url: 'amqp://127.0.0.1:5672',
  async restart() {
    server.stop()
    server.start()
  }
}))
