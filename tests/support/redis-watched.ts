/** Redis servers that a sentinel watches: one is the master, the others are replicas that can replace it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, RedisSentinelProcess, RedisServerProcess, until } from '@elysia-microservices/test-support'
import { Redis } from 'ioredis'
import { ownFolder } from './own-folder.ts'

/** The name of the master at the sentinel. */
export const MASTER = 'main'
/** Milliseconds without an answer after which the sentinel counts the master as dead. */
const DEAD_AFTER = 500
/** The time limit of a failover in milliseconds; the next failover may begin after twice this time. */
const FAILOVER = 1_000

/** One of the watched servers. */
export class WatchedRedis extends RedisServerProcess {
  #sentinel: RedisSentinelProcess | undefined

  /** Starts a master with replicas, and a sentinel. @param args further arguments of each server */
  static async startAll(
    count: number,
    args: (index: number) => readonly string[] = () => []
  ): Promise<WatchedRedis[]> {
    const folder = ownFolder('sentinel')
    const servers: WatchedRedis[] = []
    for (let index = 0; index < count; index++) {
      const master = servers[0] === undefined ? [] : ['--replicaof', '127.0.0.1', String(servers[0].port)]
      servers.push(new WatchedRedis(await freePort(), [...args(index), ...master]))
    }
    for (const server of servers) await server.start()
    const configuration = join(folder, 'sentinel.conf')
    writeFileSync(
      configuration,
      [
        `sentinel monitor ${MASTER} 127.0.0.1 ${servers[0]?.port} 1`,
        `sentinel down-after-milliseconds ${MASTER} ${DEAD_AFTER}`,
        `sentinel failover-timeout ${MASTER} ${FAILOVER}`,
        ''
      ].join('\n')
    )
    const sentinel = await RedisSentinelProcess.start(configuration)
    // It runs as long as this process, which would never end under Node if it waited for the sentinel.
    sentinel.unref()
    for (const server of servers) server.#sentinel = sentinel
    await replicasFollow(sentinel, count - 1)
    return servers
  }

  /** The address of the sentinel, which knows the address of the master. */
  override get url(): string {
    return `sentinel://127.0.0.1:${this.#sentinel?.port}`
  }

  /**
   * Kills the master, waits until a replica has replaced it, starts the old master again, and waits until all
   * replicas follow.
   */
  static async failOver(servers: readonly WatchedRedis[]): Promise<void> {
    const [first] = servers as readonly [WatchedRedis]
    const sentinel = first.#sentinel as RedisSentinelProcess
    const before = await masterPort(sentinel)
    const master = servers.find(({ port }) => port === before) as WatchedRedis
    await master.stop()
    await until('Another is the master', async () => (await masterPort(sentinel)) !== before)
    await master.start()
    await replicasFollow(sentinel, servers.length - 1)
  }
}

async function asked<Answer>(port: number, ask: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = new Redis(port)
  redis.on('error', () => {})
  try {
    return await ask(redis)
  } finally {
    redis.disconnect()
  }
}

async function masterPort(sentinel: RedisSentinelProcess): Promise<number> {
  const found = await asked(sentinel.port, (redis) =>
    redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)
  )
  return Number((found as readonly string[])[1])
}

/** Waits until all replicas follow the master: one that does not has no copies, and cannot become the master. */
async function replicasFollow(sentinel: RedisSentinelProcess, count: number): Promise<void> {
  await until('All replicas follow the master, and the sentinel knows them', async () => {
    const replicas = (await asked(sentinel.port, (redis) =>
      redis.call('SENTINEL', 'REPLICAS', MASTER)
    )) as string[][]
    const about = await asked(await masterPort(sentinel), (redis) => redis.info('replication'))
    const online = about.match(/^slave\d+:.*state=online/gm) ?? []
    return online.length === count && replicas.length === count
  })
}
