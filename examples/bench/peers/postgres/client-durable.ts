/** This project's durable events in PostgreSQL. */
import { migrateEvents, postgres } from '@elysia-microservices/postgres'
import { memory } from 'elysia-microservices'
import { storedEvents } from '../durable/ours.ts'
import { PATTERN } from '../durable/stream.ts'
import type { OpenEchoClient } from '../echo-client.ts'
import { addressOf, inTransaction, openPool, TAKES_AT_MOST } from './database.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const pool = await openPool(addressOf(host, port))
  await migrateEvents(pool)
  const store = postgres({ sql: pool })
  const client = await storedEvents({
    plan,
    transport: memory,
    store,
    takesAtMost: TAKES_AT_MOST
  })
  const { task } = plan
  return {
    ...client,
    ...(task.mode === 'durable' &&
      task.step === 'transact' && {
        emit: (data) => inTransaction(pool, (tx) => store.in(tx).publish(PATTERN, data))
      }),
    async close() {
      await client.close()
      await pool.end()
    }
  }
}
