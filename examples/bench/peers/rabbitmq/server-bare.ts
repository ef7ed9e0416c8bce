/**
 * The echo with amqplib alone, used for speed: one queue, consumed without acknowledgements; answers go directly to
 * the caller.
 */
import { connect } from 'amqplib'
import { runServer } from '../run-server.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7063, async ({ host, port }) => {
  const server = await startRabbitmqServer(host, port)
  const connection = await connect(`amqp://${host}:${server.port}`, { noDelay: true })
  const channel = await connection.createChannel()
  await channel.assertQueue('echo', { durable: false })
  await channel.consume(
    'echo',
    (message) => {
      if (message === null) return
      const { replyTo, correlationId } = message.properties
      const data = JSON.parse(message.content.toString())
      channel.publish('', replyTo, Buffer.from(JSON.stringify(data)), { correlationId })
    },
    { noAck: true }
  )
  return {
    port: server.port,
    async stop() {
      await connection.close()
      await server.stop()
    }
  }
})
