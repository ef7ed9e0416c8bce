/** Stores beside a transport: a file, and PostgreSQL. */
import { postgres } from '@elysia-microservices/postgres'
import { type Carrier, type Place, timesOf } from './carrier.ts'
import { storeOf } from './carriers.ts'
import { Disk } from './disk.ts'
import type { Config } from './plan.ts'
import { PostgresServer, type Session } from './postgres-server.ts'
import type { World } from './world.ts'

/** The carrier, with the store that the configuration wants. */
export function withStore(base: Carrier, config: Config, world: World): Carrier {
  switch (storeOf(config)) {
    case 'sqlite':
      return inFile(base, config)
    case 'postgres':
      return inDatabase(base, new PostgresServer(world, config.delay), config)
    default:
      return base
  }
}

function inFile(base: Carrier, { maxBytes, maxAge }: Config): Carrier {
  const disk = new Disk()
  const options = { maxBytes, ...(maxAge !== undefined && timesOf(maxAge)) }
  let file = disk.newFile(options)
  return {
    ...base,
    service: (name, n, options) => ({ ...base.service(name, n, options), ...file }),
    client: (name) => ({ ...base.client(name), ...file }),
    left: () => [base.left(), disk.open > 0 ? 'open files' : ''].filter(Boolean).join(', '),
    die() {
      base.die?.()
      disk.take()
      file = disk.newFile(options)
    },
    old: (age) => disk.storedBefore(Date.now() - age)
  }
}

/** Events of a process that has died soon go to others; one that waits looks seldom: in most of a life nothing happens. */
const TIMES = { ackWait: 10_000, pollInterval: 5_000 }
type Sql = ReturnType<PostgresServer['pool']>

function inDatabase(base: Carrier, server: PostgresServer, { maxBytes, maxAge }: Config): Carrier {
  const options = { maxBytes, ...TIMES, ...(maxAge !== undefined && timesOf(maxAge)) }
  const newStore = (name: string) => {
    const sql = server.pool(name)
    return { sql, store: postgres({ sql: sql as never, ...options }) }
  }
  /** Runs a function in a transaction of the user's own. */
  const inTransaction = async (sql: Sql, run: (session: Session) => Promise<void>) => {
    const session = await new Promise<Session>((resolve, reject) =>
      sql.connect((error, one) => (one === undefined ? reject(error) : resolve(one)))
    )
    try {
      await session.query('begin')
      await run(session)
      await session.query('commit')
    } finally {
      // Without a commit it is rolled back.
      session.release()
    }
  }
  const beside = (place: Place, name: string): Place => {
    const { sql, store } = newStore(name)
    let times = 0
    return {
      ...place,
      store,
      transact(delivery, work) {
        const within = async (session: Session) => {
          work((act) => session.committed(act))
          await session.query('select 1')
        }
        // Every other time the transaction is one that the store has not begun.
        return ++times % 2 === 0
          ? store.transaction(delivery, (given) => within(given as unknown as Session))
          : inTransaction(sql, async (session) => {
              await store.in(session as never).acknowledge(delivery)
              await within(session)
            })
      }
    }
  }
  return {
    ...base,
    service: (name, n, options) => beside(base.service(name, n, options), name),
    client: (name) => beside(base.client(name), name),
    async publishIn(name, run) {
      const { sql, store } = newStore(name)
      await inTransaction(sql, (session) =>
        run((pattern, data, options) => store.in(session as never).publish(pattern, data, options))
      )
    },
    die() {
      base.die?.()
      server.die()
    },
    kill(name) {
      base.kill?.(name)
      server.kill(name)
    },
    lose(name, milliseconds) {
      base.lose?.(name, milliseconds)
      server.lose(name, milliseconds)
    },
    stall(name, milliseconds) {
      base.stall?.(name, milliseconds)
      server.stall(name, milliseconds)
    },
    stop() {
      base.stop?.()
      server.stop()
    },
    start() {
      base.start?.()
      server.start()
    },
    suspend() {
      base.suspend?.()
      server.suspend()
    },
    resume() {
      base.resume?.()
      server.resume()
    },
    old: (age) => server.storedBefore(age),
    left: () =>
      [base.left(), server.open > 0 ? `${server.open} connections to PostgreSQL` : '']
        .filter(Boolean)
        .join(', ')
  }
}
