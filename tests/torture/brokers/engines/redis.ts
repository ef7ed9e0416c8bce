/** Torture over Redis, alone and with a sentinel. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { redis } from '@elysia-microservices/redis'
import { keepsIn, RedisServerProcess, redisMissing } from '@elysia-microservices/test-support'
import { Redis } from 'ioredis'
import { MASTER, WatchedRedis } from '../../../support/redis-watched.ts'
import { type Broker, countListed } from '../engine.ts'

export const onRedis: Broker = {
  name: 'redis',
  title: 'Redis',
  missing: redisMissing(),
  hasCluster: false,
  hasLog: true,
  countDeadLetters: countListed,
  start: async (_nodes, store) => [
    await RedisServerProcess.start(...(store === undefined ? [] : keepsIn(store)))
  ],
  transport: ([url], { ackWait } = {}) => redis({ url, durable: { ackWait } }),
  async delete(url, what, pattern) {
    const bare = new Redis(url)
    const stream = `_elysia:{events}:s:${pattern}`
    if (what === 'stream') await bare.del(stream)
    else await bare.xgroup('DESTROY', stream, 'torture').catch(() => {})
    bare.disconnect()
  }
}

export const onSentinel: Broker = {
  ...onRedis,
  name: 'redis-sentinel',
  title: 'Redis with a sentinel',
  hasCluster: 'only',
  start: (nodes, store) =>
    WatchedRedis.startAll(nodes, (n) => {
      if (store === undefined) return []
      const folder = join(store, `n${n}`)
      mkdirSync(folder)
      return keepsIn(folder)
    }),
  transport: ([url = ''], { ackWait, replicas = 1 } = {}) =>
    redis({
      url,
      sentinelName: MASTER,
      // With three copies, two are left on other servers when one is killed.
      durable: { ackWait, replicas: Math.min(replicas, 2) }
    }),
  failOver: (servers) => WatchedRedis.failOver(servers as readonly WatchedRedis[])
}
