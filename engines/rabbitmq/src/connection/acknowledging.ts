/** Acknowledges messages of a queue shared with NestJS whose messages must be acknowledged (`noAck: false`). */
import type { Settlement } from '@elysia-microservices/transport/kit'
import type { DriverChannel, Received } from '../driver.ts'

/** The first byte of NestJS's packets, which are JSON objects. */
const BRACE = 0x7b

/** Returns functions; when all of them have been called, calls `done` once. */
export function afterAll(count: number, done: () => void): () => () => void {
  let left = count
  return () => {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--left === 0) done()
    }
  }
}

/** Ends a message: `'dead'` lets RabbitMQ move it by the settings of its queue, as with NestJS. */
type Settle = (as: Settlement) => void

/**
 * Acknowledges a message when its handlers have ended, unless one of them settles it before. RabbitMQ moves a message
 * that nobody can handle.
 */
export function acknowledging(
  channel: DriverChannel,
  message: Received,
  handle: (ended: () => void, settle: Settle) => boolean
): void {
  const { deliveryTag } = message.fields
  let isSettled = false
  const settle: Settle = (as) => {
    // RabbitMQ closes a channel on which a message is settled twice.
    if (isSettled) return
    isSettled = true
    try {
      if (as === 'done') channel.acknowledge(deliveryTag)
      else if (as === 'again') channel.giveBack(deliveryTag)
      else channel.reject(deliveryTag)
    } catch {
      // The channel is closed, and the message is delivered again.
    }
  }
  // A message of this library's protocol is acknowledged at once, because it may be only a part of a call.
  if (message.content[0] !== BRACE) settle('done')
  try {
    if (!handle(() => settle('done'), settle)) settle('dead')
  } catch (error) {
    settle('dead')
    throw error
  }
}
