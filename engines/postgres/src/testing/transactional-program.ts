/**
 * A service whose handler writes one row for each event, in the transaction that acknowledges it:
 * `bun transactional-program.ts <database> [<step> <nth>]`. It kills itself when it reaches the step for the nth time.
 */
import type { TransactionSql } from '@elysia-microservices/outbox/database'
import { drive, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import { memory } from '@elysia-microservices/transport'
import { microservice } from 'elysia-microservices'
import { postgres } from '../postgres.ts'

/** The steps of a handler; while it commits, the commit is on its way. */
export const STEPS = ['begins', 'has written', 'commits', 'has committed'] as const
type Step = (typeof STEPS)[number]

const [url, step, nth] = process.argv.slice(2) as [string, Step?, string?]
let times = 0
function reached(here: Step): void {
  if (here === step && ++times === Number(nth)) process.kill(process.pid, 'SIGKILL')
}

if (url !== undefined) await serve()

async function serve(): Promise<void> {
  const { sql, query } = drive(MAIN_DRIVER, url)
  const store = postgres({ sql, ackWait: 500 })
  await microservice({ transport: { ...memory(), name: 'calls' }, store, name: 'g' })
    .event(
      'e',
      async ({ data, delivery }) => {
        reached('begins')
        await store.transaction(delivery, async (tx) => {
          await query('insert into effect values ($1)', [String(data)], tx as TransactionSql)
          reached('has written')
          setImmediate(() => reached('commits'))
        })
        reached('has committed')
      },
      { durable: { transactional: true, start: 'all', retry: { attempts: 1_000 } } }
    )
    .listen()
}
