/** Torture over NATS. */
import { join } from 'node:path'
import { nats } from '@elysia-microservices/nats'
import { connect as connectBare } from '@nats-io/transport-node'
import { NatsServerProcess, natsMissing } from '../../../support/nats-server.ts'
import { type Broker, countListed } from '../engine.ts'

export const onNats: Broker = {
  name: 'nats',
  title: 'NATS',
  missing: natsMissing(),
  hasCluster: true,
  hasLog: true,
  countDeadLetters: countListed,
  async start(nodes, store) {
    const stores = (folder: string) => (store === undefined ? [] : ['-js', '-sd', join(store, folder)])
    return nodes === 1
      ? [await NatsServerProcess.start(...stores('.'))]
      : NatsServerProcess.cluster(nodes, (n) => ['-n', `n${n}`, ...stores(`n${n}`)])
  },
  transport: (urls, { pingInterval, ...durable } = {}) =>
    nats({ url: [...urls], durable, ...(pingInterval !== undefined && { pingInterval }) }),
  async delete(url, what, pattern) {
    const bare = await connectBare({ servers: [url] })
    const name = pattern.replace('.', '_')
    const subject = what === 'stream' ? `STREAM.DELETE.${name}` : `CONSUMER.DELETE.${name}.torture_${name}`
    // The stream does not exist: no service has created it again since the last deletion.
    await bare.request(`$JS.API.${subject}`, '', { timeout: 10_000 })
    await bare.close()
  }
}
