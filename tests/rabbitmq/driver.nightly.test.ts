/** The driver over RabbitMQ keeps what its interface promises; the fake of it passes the same cases. */
import { after } from 'node:test'
import { amqplib, driverCases } from '@elysia-microservices/rabbitmq/testing'
import { isMissing } from '@elysia-microservices/test-support'
import { RabbitmqServerProcess, rabbitmqMissing } from '../support/rabbitmq-server.ts'

let server: RabbitmqServerProcess | undefined
after(() => server?.stop())

if (!isMissing('the driver of RabbitMQ', rabbitmqMissing()))
  driverCases('RabbitMQ', async () => {
    server ??= await RabbitmqServerProcess.start()
    const { url } = server
    return {
      driver: amqplib,
      url,
      async restart() {
        await server?.stop()
        await server?.start()
      }
    }
  })
