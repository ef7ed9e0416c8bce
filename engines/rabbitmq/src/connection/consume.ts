import type { Hearing } from '@elysia-microservices/engine'
import type { DriverChannel, Received } from '../driver.ts'

/**
 * Receives from a queue, as long as its channel is open.
 * @param noAck whether the server forgets a message as soon as it was sent
 * @returns the consumer's tag
 */
export function consume(
  channel: DriverChannel,
  queue: string,
  hearing: Hearing,
  receive: (message: Received) => void,
  noAck = true
): Promise<string> {
  return channel.consume(
    queue,
    (message) => {
      if (message !== null) return hearing.guard(() => receive(message))
      // Closing the channel sets up everything on it again, including the queue.
      const lost = new Error(`RabbitMQ has deleted the queue '${queue}', or has lost it with a server`)
      channel.close(lost).catch(() => {})
    },
    noAck
  )
}
