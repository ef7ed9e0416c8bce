/**
 * amqplib alone, used as in RabbitMQ's documentation: a topic exchange, so that several groups can receive an event;
 * a quorum queue; confirmations; returned events are noticed; ids, by which consumers recognise duplicates;
 * acknowledgements; a prefetch.
 */
import { connect, type Options } from 'amqplib'
import { fillBy, PATTERN } from '../durable/stream.ts'
import type { OpenEchoClient } from '../echo-client.ts'
import { TAKEN } from './queue.ts'

const STORED: Options.Publish = { persistent: true, mandatory: true, contentType: 'application/json' }

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const connection = await connect(`amqp://${host}:${port}`, { noDelay: true })
  const channel = await connection.createConfirmChannel()
  await channel.assertQueue(PATTERN, { arguments: { 'x-queue-type': 'quorum' } })
  await channel.assertExchange(PATTERN, 'topic')
  await channel.bindQueue(PATTERN, PATTERN, PATTERN)
  const untaken = new Set<unknown>()
  channel.on('return', ({ properties }) => untaken.add(properties.messageId))
  let count = 0
  const publish = (data: unknown) =>
    new Promise<void>((resolve, reject) => {
      const messageId = `${process.pid}-${count++}`
      const options = { ...STORED, messageId }
      channel.publish(PATTERN, PATTERN, Buffer.from(JSON.stringify(data)), options, (error: unknown) =>
        error || untaken.delete(messageId) ? reject(error) : resolve()
      )
    })
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    emit: publish,
    takesAtMost: TAKEN,
    fill: (count) =>
      fillBy(
        count,
        () => void publish(payload.value),
        async () => {
          await publish(payload.value)
          await channel.waitForConfirms()
        }
      ),
    async takeStored(take) {
      await channel.prefetch(window)
      await channel.consume(PATTERN, (message) => {
        if (message === null) return
        take(JSON.parse(message.content.toString()))
        channel.ack(message)
      })
    },
    close: () => connection.close()
  }
}
