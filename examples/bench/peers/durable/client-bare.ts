/**
 * JetStream's driver alone, used as in its documentation: a promise for each event, a callback, explicit
 * acknowledgements.
 */
import { AckPolicy, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { OpenEchoClient } from '../echo-client.ts'
import { fillBy, PATTERN } from './stream.ts'

const GROUP = 'bench'

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const connection = await connect({ servers: `nats://${host}:${port}` })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: PATTERN, subjects: [PATTERN], storage: StorageType.File })
  const js = jetstream(connection)
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    emit: (data) => js.publish(PATTERN, JSON.stringify(data)),
    fill: (count) => {
      const text = JSON.stringify(payload.value)
      return fillBy(
        count,
        () => connection.publish(PATTERN, text),
        () => js.publish(PATTERN, text)
      )
    },
    async takeStored(take) {
      await manager.consumers.add(PATTERN, { durable_name: GROUP, ack_policy: AckPolicy.Explicit })
      const consumer = await js.consumers.get(PATTERN, GROUP)
      await consumer.consume({
        max_messages: window,
        callback(message) {
          take(message.json())
          message.ack()
        }
      })
    },
    close: () => connection.close()
  }
}
