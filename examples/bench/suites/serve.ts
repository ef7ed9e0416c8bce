/**
 * The common part of all servers of the suites: it reads the work, reports the address, and ends when its parent
 * ends.
 */
import { parseArgs } from 'node:util'
import { obeyParent } from '../peers/run-server.ts'
import { freePort } from '../process/free-port.ts'
import { type Route, routes, type User } from './work.ts'

/**
 * The work of a server. Parts that only one workload needs are left out for the others, because they would cost time.
 */
export interface Work {
  readonly host: string
  readonly port: number
  /** 500 routes, or none. */
  readonly routes: readonly Route[]
  /** Whether answers are compressed. */
  readonly compresses: boolean
  /** Reads this many users from the database. */
  users(limit: number): Promise<readonly User[]>
  /** The number of workers of a server with several processes. */
  readonly workers: number
  /** The most messages in flight of a service; 0: no limit. */
  readonly inFlight: number
}

const flags = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '0' },
  workload: { type: 'string', default: 'hello' },
  database: { type: 'string' },
  slow: { type: 'boolean', default: false },
  workers: { type: 'string', default: '1' },
  'in-flight': { type: 'string', default: '0' },
  'with-parent': { type: 'boolean' }
} as const

/**
 * @param start starts to listen, and resolves to the port; `undefined`: this process is a worker, and its supervisor
 * reports the port
 */
export async function serve(start: (work: Work) => Promise<number | undefined>): Promise<void> {
  const { values } = parseArgs({ options: flags })
  const { host, workload, database, slow } = values
  let opened: Promise<Work['users']> | undefined
  const users: Work['users'] = async (limit) => {
    if (database === undefined) throw new Error('--database is missing, so there are no users')
    // Imported only when used, so that servers without a database need no driver.
    opened ??= import('./users.ts').then(({ openUsers }) => openUsers(database, slow))
    return (await opened)(limit)
  }
  const port = await start({
    host,
    port: Number(values.port) || (await freePort(host)),
    routes: workload === 'router' ? routes : [],
    compresses: workload === 'compressed',
    users,
    workers: Number(values.workers),
    inFlight: Number(values['in-flight'])
  })
  if (port === undefined) return
  process.once('SIGTERM', () => process.exit(0))
  process.once('SIGINT', () => process.exit(0))
  if (values['with-parent'] === true) obeyParent()
  console.log(`listening on tcp://${host}:${port}`)
}
