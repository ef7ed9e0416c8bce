/**
 * A relay in a separate process: `relay-program <driver> <database> <port of the sink> [<step> <nth>]`. With a step
 * the process kills itself with SIGKILL when it reaches that step for the nth time with events being sent. Prints
 * `started`.
 */
import pg from 'pg'
import { outboxRelay } from '../relay/relay.ts'
import { type Driver, drive } from './drivers.ts'
import { sinkClient } from './sink.ts'

/**
 * The steps at which a relay can be killed: before and after each of its statements, and while events are being
 * sent.
 */
export const STEPS = [
  'before begin',
  'after begin',
  'before lead',
  'after lead',
  'before read',
  'after read',
  'sent',
  'acknowledged',
  'before mark',
  'after mark',
  'before commit',
  'after commit'
] as const
type Step = (typeof STEPS)[number]

const [driver, url, port, step, nth = '1'] = process.argv.slice(2)
let times = 0
function reached(here: Step): void {
  if (here === step && ++times === Number(nth)) process.kill(process.pid, 'SIGKILL')
}

function nameOf(text: string): 'begin' | 'lead' | 'read' | 'mark' | 'commit' | undefined {
  if (text.startsWith('begin')) return 'begin'
  if (text === 'commit') return 'commit'
  if (text.includes('pg_try_advisory_xact_lock')) return 'lead'
  if (text.startsWith('with events')) return 'read'
  return text.includes('set published_at') ? 'mark' : undefined
}

/** A client of `pg` that kills the process at the statements of the chosen step. */
class MortalClient extends pg.Client {
  // @ts-expect-error one type for many overloads
  override query(...given: [text: string, ...rest: unknown[]]): unknown {
    const query = super.query.bind(this) as (...given: unknown[]) => unknown
    // This package passes texts and uses promises. Statements of the pool itself have a callback, and are left
    // alone.
    const name = given.some((each) => typeof each === 'function') ? undefined : nameOf(given[0])
    if (name === undefined) return query(...given)
    reached(`before ${name}`)
    return (query(...given) as Promise<unknown>).then((result) => {
      reached(`after ${name}`)
      return result
    })
  }
}

if (url !== undefined) {
  const client = sinkClient(Number(port), () => reached('sent'))
  const publish = client.publish.bind(client)
  client.publish = async (...given) => {
    const published = await publish(...given)
    reached('acknowledged')
    return published
  }
  const mortal = () => {
    const pool = new pg.Pool({ connectionString: url, Client: MortalClient as never, max: 3 })
    pool.on('error', () => {})
    return pool
  }
  const sql = driver === 'pg' ? mortal() : drive(driver as Driver, url, 3).sql
  const silent = { warn() {}, error: console.error }
  const batch = Number(process.env['RELAY_BATCH'] ?? 20)
  await outboxRelay({ sql, client, batch, pollInterval: 50, publishTimeout: 3_000, logger: silent }).start()
  console.log('started')
}
