/** amqplib alone, used for speed: direct reply-to, own ids, no confirmations, no timer. */
import { connect } from 'amqplib'
import type { OpenEchoClient } from '../echo-client.ts'

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

const REPLY_TO = 'amq.rabbitmq.reply-to'

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const connection = await connect(`amqp://${host}:${port}`, { noDelay: true })
  const channel = await connection.createChannel()
  const waiting = new Map<string, Waiting>()
  let last = 0
  await channel.consume(
    REPLY_TO,
    (message) => {
      if (message === null) return
      const id = message.properties.correlationId as string
      const call = waiting.get(id)
      waiting.delete(id)
      call?.answered(JSON.parse(message.content.toString()))
    },
    { noAck: true }
  )
  // The event 'close' follows; an error event without a listener would end the process.
  connection.on('error', () => {})
  connection.once('close', () => {
    for (const { failed } of waiting.values()) failed(new Error('The connection is lost'))
    waiting.clear()
  })
  return {
    echo(payload, answered, failed) {
      const correlationId = String(++last)
      waiting.set(correlationId, { answered, failed })
      channel.publish('', 'echo', Buffer.from(JSON.stringify(payload)), { replyTo: REPLY_TO, correlationId })
    },
    close: () => connection.close()
  }
}
