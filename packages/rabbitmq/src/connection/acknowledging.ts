/** Acknowledges messages of Nest's queues that are to be acknowledged (`noAck: false`). */
import type { Channel, ConsumeMessage } from 'amqplib'

/** The first byte of Nest's packets, which are JSON objects. */
const BRACE = 0x7b

/** Functions of which each is to be called, and then something is done once. */
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

/** Takes a message out of its queue when it is handled. What nobody can handle goes where its queue says, as with Nest. */
export function acknowledging(
  channel: Channel,
  message: ConsumeMessage,
  handle: (ended: () => void) => boolean
): void {
  const settle = (isDone: boolean) => {
    try {
      if (isDone) channel.ack(message)
      else channel.nack(message, false, false)
    } catch {
      // The channel is gone, and the message comes again.
    }
  }
  // Words of our own dialogue are no requests alone.
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
