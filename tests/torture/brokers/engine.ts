/** The engines that durable events are tortured over, each as the plans need it. */
import { join } from 'node:path'
import { nats } from '@elysia-microservices/nats'
import { redis } from '@elysia-microservices/redis'
import { connect as connectBare } from '@nats-io/transport-node'
import type { Transport } from 'elysia-microservices'
import { Redis } from 'ioredis'
import type { EngineProcess } from '../../support/engine-process.ts'
import { NatsServerProcess, natsMissing } from '../../support/nats-server.ts'
import { keepsIn, RedisServerProcess, redisMissing } from '../../support/redis-server.ts'

/** A server, and where it is. */
export type BrokerServer = EngineProcess & { readonly url: string }

/** How a transport is made in a process: by urls, copies, and milliseconds without a sign of life. */
interface TransportOptions {
  readonly replicas: number
  readonly ackWait?: number
}

/** An engine. */
export interface Broker {
  readonly name: string
  readonly title: string
  readonly missing: string | undefined
  /** Starts one server, or several that are a cluster. */
  start(nodes: number, store: string): Promise<readonly BrokerServer[]>
  transport(urls: readonly string[], options: TransportOptions): Transport
  /** Deletes, as an operator does it, the stream of a pattern or the group `torture` in it. */
  delete(url: string, what: 'stream' | 'group', pattern: string): Promise<void>
  /** It has clusters in which each server has a copy. */
  readonly hasCluster: boolean
}

const onNats: Broker = {
  name: 'nats',
  title: 'NATS',
  missing: natsMissing(),
  hasCluster: true,
  async start(nodes, store) {
    return nodes === 1
      ? [await NatsServerProcess.start('-js', '-sd', store)]
      : NatsServerProcess.cluster(nodes, (n) => ['-n', `n${n}`, '-js', '-sd', join(store, `n${n}`)])
  },
  transport: (urls, durable) => nats({ servers: [...urls], durable }),
  async delete(url, what, pattern) {
    const bare = await connectBare({ servers: [url] })
    const name = pattern.replace('.', '_')
    const subject = what === 'stream' ? `STREAM.DELETE.${name}` : `CONSUMER.DELETE.${name}.torture_${name}`
    // Not there: it has not been made again since the last time.
    await bare.request(`$JS.API.${subject}`, '', { timeout: 10_000 })
    await bare.close()
  }
}

const onRedis: Broker = {
  name: 'redis',
  title: 'Redis',
  missing: redisMissing(),
  hasCluster: false,
  start: async (_nodes, store) => [await RedisServerProcess.start(...keepsIn(store))],
  transport: ([url], { ackWait }) => redis({ url, durable: { ackWait } }),
  async delete(url, what, pattern) {
    const bare = new Redis(url)
    const stream = `_elysia:{events}:s:${pattern}`
    if (what === 'stream') await bare.del(stream)
    else await bare.xgroup('DESTROY', stream, 'torture').catch(() => {})
    bare.disconnect()
  }
}

/** All of them. */
export const BROKERS: readonly Broker[] = [onNats, onRedis]

/** The engine of an address. */
export function brokerOf(url: string): Broker {
  return BROKERS.find(({ name }) => url.startsWith(`${name}:`)) as Broker
}
