import type { Hearing } from '@elysia-microservices/transport/engine'
import type { Channel, ConsumeMessage } from 'amqplib'

/**
 * Receives from a queue, as long as its channel is there.
 * @param noAck the server forgets a message when it has sent it
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
      // The queue was deleted. The channel is opened again, with all that is consumed on it.
      channel.close().catch(() => {})
    },
    { noAck }
  )
  return consumerTag
}
