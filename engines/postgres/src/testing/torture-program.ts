/**
 * A service whose handler notes each event in the transaction that acknowledges it, in the order of keys:
 * `bun torture-program.ts <database>`.
 */
import type { TransactionSql } from '@elysia-microservices/outbox/database'
import { drive, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import { memory } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { postgres } from '../postgres.ts'

const { sql, query } = drive(MAIN_DRIVER, process.argv[2] as string)
const store = postgres({ sql, ackWait: 1_000 })
await microservice({
  transport: { ...memory(), name: 'calls' },
  store,
  name: 'torture',
  logger: { warn() {}, error() {} }
})
  .event(
    'torture',
    ({ data, delivery }: Message<number>) =>
      store.transaction(delivery, (tx) =>
        query(
          'insert into seen (n, key) values ($1, $2)',
          [String(data), String(delivery?.key)],
          tx as TransactionSql
        )
      ),
    {
      durable: { transactional: true, ordered: true, start: 'all', retry: { attempts: 1_000, minDelay: 10 } }
    }
  )
  .listen()
console.log('ready')
