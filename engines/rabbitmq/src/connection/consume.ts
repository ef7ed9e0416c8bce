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
      // The queue was deleted. Closing the channel sets up everything on it again, including the queue.
      channel.close().catch(() => {})
    },
    { noAck }
  )
  return consumerTag
}
