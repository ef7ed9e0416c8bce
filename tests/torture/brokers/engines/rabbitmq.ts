/** Torture over RabbitMQ. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { type Channel, connect as connectToRabbitmq } from 'amqplib'
import { RabbitmqServerProcess, rabbitmqMissing } from '../../../support/rabbitmq-server.ts'
import type { Broker } from '../engine.ts'

export const onRabbitmq: Broker = {
  name: 'rabbitmq',
  title: 'RabbitMQ',
  // In RabbitMQ 3.10, a quorum queue that was created within the last second has no leader after a restart, because
  // its state is not on disk yet.
  settlesIn: 3_000,
  missing: rabbitmqMissing(),
  hasCluster: true,
  hasLog: false,
  start: (nodes) => RabbitmqServerProcess.cluster(nodes),
  transport: (urls) => rabbitmq({ url: urls }),
  countDeadLetters: (_, url) =>
    atRabbitmq(url, async (channel) => (await channel.checkQueue('_elysia.dead.torture')).messageCount),
  delete: (url, _what, pattern) =>
    atRabbitmq(url, async (channel) => void (await channel.deleteQueue(`_elysia.d.torture:${pattern}`)))
}

async function atRabbitmq<Value>(url: string, task: (channel: Channel) => Promise<Value>): Promise<Value> {
  const connection = await connectToRabbitmq(url)
  try {
    return await task(await connection.createChannel())
  } finally {
    await connection.close()
  }
}
