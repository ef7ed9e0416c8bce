/** Acknowledges messages of a queue shared with NestJS whose messages must be acknowledged (`noAck: false`). */
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

/**
 * Acknowledges a message when its handlers have ended. RabbitMQ moves a message that nobody can handle by the
 * settings of its queue, as with NestJS.
 */
export function acknowledging(
  channel: DriverChannel,
  message: Received,
  handle: (ended: () => void) => boolean
): void {
  const settle = (isDone: boolean) => {
    try {
      if (isDone) channel.acknowledge(message.fields.deliveryTag)
      else channel.reject(message.fields.deliveryTag)
    } catch {
      // The channel is closed, and the message is delivered again.
    }
  }
  // A message of this library's protocol is acknowledged at once, because it may be only a part of a call.
  const isPacket = message.content[0] === BRACE
  if (!isPacket) settle(true)
  try {
    const isHandled = handle(() => {
      if (isPacket) settle(true)
    })
    if (isPacket && !isHandled) settle(false)
  } catch (error) {
    if (isPacket) settle(false)
    throw error
  }
}
