/**
 * A cluster of three Redis nodes with a replica each. Clients and services use the node that has the keys of stored
 * events.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { redis } from '@elysia-microservices/redis'
import {
  freePort,
  isMissing,
  Log,
  PATIENCE,
  pause,
  RedisServerProcess,
  redisMissing,
  until
} from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, PatternNotFoundError } from 'elysia-microservices/client'
import { Redis } from 'ioredis'

const SLOTS = 16_384
const MASTERS = 3

if (!isMissing('A cluster of Redis servers', redisMissing())) {
  describe('over a cluster of Redis servers', { timeout: 3 * PATIENCE }, () => {
    const nodes: RedisServerProcess[] = []
    const direct: Redis[] = []
    const { logger } = new Log()
    let folder: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'redis-cluster-'))
      // Without an option, the nodes talk on ports that are 10,000 higher, which connections of other tests may use.
      const buses: number[] = []
      for (let n = 0; n < 2 * MASTERS; n++) {
        const bus = await freePort()
        buses.push(bus)
        const server = await RedisServerProcess.start(
          ...['--cluster-enabled', 'yes', '--cluster-port', String(bus)],
          ...['--cluster-config-file', join(folder, `${n}.conf`)],
          ...['--cluster-node-timeout', '1000', '--cluster-replica-validity-factor', '0', '--dir', folder]
        )
        nodes.push(server)
        const node = new Redis(server.url, { maxRetriesPerRequest: 0, enableOfflineQueue: true })
        node.on('error', () => {})
        direct.push(node)
      }
      const [first] = direct as [Redis]
      for (const [n, { port }] of nodes.entries())
        if (n > 0) await first.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[n] as number)
      const each = Math.ceil(SLOTS / MASTERS)
      for (const [n, node] of direct.slice(0, MASTERS).entries())
        await node.call('CLUSTER', 'ADDSLOTSRANGE', n * each, Math.min(SLOTS, (n + 1) * each) - 1)
      await until('All know all', async () =>
        (await Promise.all(direct.map((node) => node.cluster('INFO')))).every((about) =>
          String(about).includes(`cluster_known_nodes:${nodes.length}`)
        )
      )
      for (const [n, node] of direct.slice(MASTERS).entries())
        await node.cluster('REPLICATE', String(await (direct[n] as Redis).cluster('MYID')))
      await until('It works', async () =>
        (await Promise.all(direct.map((node) => node.cluster('INFO')))).every((about) =>
          /cluster_state:ok/.test(String(about))
        )
      )
      await until('Each replica has what its master has', async () =>
        (await Promise.all(direct.slice(MASTERS).map((node) => node.info('replication')))).every((about) =>
          about.includes('master_link_status:up')
        )
      )
    })
    after(async () => {
      for (const node of direct) node.disconnect()
      for (const server of nodes) await server.stop()
      await rm(folder, { recursive: true, force: true })
    })

    /** The number of the node that has these keys, as the cluster itself says. */
    async function ours(): Promise<number> {
      for (const [n, node] of direct.entries()) {
        const isThere = await node
          .exists('_elysia:{events}:streams')
          .then(() => true)
          .catch(() => false)
        if (isThere) return n
      }
      return -1
    }

    /** Makes a replica the master that has the keys. Its old master keeps running, and does not tell its clients. */
    async function moveTo(replica: number): Promise<void> {
      await until('The replica has the keys', async () => {
        if ((await ours()) === replica) return true
        // A replica that has not caught up gives up after 5 s.
        await (direct[replica] as Redis).cluster('FAILOVER').catch(() => {})
        for (let tries = 0; tries < 600 && (await ours()) !== replica; tries++) await pause(10)
        return false
      })
    }

    it('a live service is never taken for a missing one while the keys move to another node', async () => {
      const transportAt = (n: number) =>
        redis({ url: `redis://127.0.0.1:${(nodes[n] as RedisServerProcess).port}`, cluster: true })
      const service = microservice({ name: 'moving', transport: transportAt(0), logger }).message(
        'moving.echo',
        ({ data }) => data
      )
      await service.listen()
      // Each looks once a second whether the keys have moved, at a time of its own.
      const clients = Array.from({ length: 6 }, (_, n) => connect({ transport: transportAt(n), logger }))
      const codes = new Map<string, number>()
      let isOver = false
      const asking = clients.map(async (client) => {
        for (let n = 0; !isOver; n++) {
          const code = await client.request('moving.echo', n, { timeout: 5_000 }).then(
            (answer) => (answer === n ? 'ok' : 'wrong'),
            (error: { readonly code: string }) => error.code
          )
          codes.set(code, (codes.get(code) ?? 0) + 1)
          await pause(10)
        }
      })
      try {
        for (let moves = 0; moves < 4; moves++) {
          const from = await ours()
          const to = (from + MASTERS) % (2 * MASTERS)
          await moveTo(to)
          await until('All have followed', async () => {
            const answers = await Promise.allSettled(clients.map((one) => one.request('moving.echo', 1)))
            return answers.every(({ status }) => status === 'fulfilled')
          })
          const before = codes.get('ok') ?? 0
          await until('Requests are answered', () => (codes.get('ok') ?? 0) > before + 100)
        }
      } finally {
        isOver = true
        await Promise.all(asking)
        await Promise.all(clients.map((client) => client.close()))
        await service.stop()
      }
      // Requests in flight fail with the connection, and say that they may have run.
      for (const code of codes.keys()) assert.ok(['ok', 'CONNECTION', 'TIMEOUT'].includes(code), code)
    })

    it('clients and services use the same node, whichever nodes they were given, and follow the keys to another node', async () => {
      const seen: unknown[] = []
      const transportAt = (n: number) =>
        redis({ url: `redis://127.0.0.1:${(nodes[n] as RedisServerProcess).port}`, cluster: true })
      const service = microservice({ name: 'orders', transport: transportAt(0), logger })
        .message('orders.total', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
        .event('orders.placed', ({ data }) => void seen.push(data), { durable: { ordered: true } })
      await service.listen()
      const client = connect({ transport: transportAt(4), logger, timeout: PATIENCE })
      try {
        const check = async (n: number) => {
          assert.equal(await client.request('orders.total', [n, 2]), n + 2)
          await assert.rejects(client.request('orders.nobody', 1), PatternNotFoundError)
          await client.publish('orders.placed', n, { key: 'k', id: `id ${n}`, delay: 20 })
          await until('It is handled', () => seen.includes(n))
        }
        await check(0)
        // The old master keeps running.
        const first = await ours()
        await moveTo(first + MASTERS)
        const publishing = Array.from({ length: 50 }, (_, n) =>
          client.publish('orders.placed', n + 1, { key: 'k', id: `id ${n + 1}` })
        )
        await Promise.all(publishing)
        await until('All are handled', () => new Set(seen).size === 51)
        await until('Both ends have followed', async () => {
          const answer = await client.request('orders.total', [1, 2]).catch(() => 0)
          return answer === 3
        })
        await check(51)
        // The node is stopped; the first master is its replica by now, and takes over again.
        await (nodes[first + MASTERS] as RedisServerProcess).stop()
        await until('The other one has the keys', async () => (await ours()) === first)
        await client.publish('orders.placed', 52, { key: 'k', id: 'id 52', timeout: PATIENCE })
        await until('It is handled', () => seen.includes(52))
        assert.deepEqual([...new Set(seen)], [...Array(53).keys()])
        // All nodes stop, and come back.
        const running = nodes.filter((_, n) => n !== first + MASTERS)
        await Promise.all(running.map((node) => node.stop()))
        await assert.rejects(client.request('orders.total', [1, 2], { timeout: 1_000 }))
        for (const node of running) await node.start()
        await until('Both ends are back', async () => {
          const answer = await client.request('orders.total', [1, 2], { timeout: 1_000 }).catch(() => 0)
          return answer === 3
        })
      } finally {
        await client.close()
        await service.stop()
      }
    })

    it('a server outside of a cluster is refused with advice', async () => {
      const alone = await RedisServerProcess.start()
      try {
        const client = connect({
          transport: redis({ url: `redis://127.0.0.1:${alone.port}`, cluster: true }),
          logger
        })
        await assert.rejects(client.connect(), (error: Error) => {
          assert.ok(error instanceof OptionError, String(error))
          assert.match(error.message, /is no node of a cluster; leave out options\.cluster/)
          return true
        })
        await client.close()
      } finally {
        await alone.stop()
      }
    })
  })
}
