import type { Hearing } from '@elysia-microservices/engine'
import type { Channel, ConsumeMessage } from 'amqplib'

/**
 * Receives from a queue, as long as its channel is open.
 * @param noAck whether the server forgets a message as soon as it was sent
 * @returns the consumer's tag
 */
export async function consume(
  channel: Channel,
  queue: string,
  hearing: Hearing,
  receive: (message: ConsumeMessage) => void,
  noAck = true
): Promise<string> {
  const { consumerTag } = await channel.consume(
    queue,
    (message) => {
      if (message !== null) return hearing.guard(() => receive(message))
      // Closing the channel sets up everything on it again, including the queue. The link asks the channel for the reason.
      channel.emit(
        'error',
        new Error(`RabbitMQ has deleted the queue '${queue}', or has lost it with a server`)
      )
      channel.close().catch(() => {})
    },
    { noAck }
  )
  return consumerTag
}
