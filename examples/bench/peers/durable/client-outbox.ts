/** This project's outbox: a relay that publishes events from the database. */
import { nats } from '@elysia-microservices/nats'
import { migrate, type OutboxRelay, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { connect as connectBare } from '@nats-io/transport-node'
import { connect } from 'elysia-microservices/client'
import postgres from 'postgres'
import type { OpenEchoClient } from '../echo-client.ts'
import { inTransaction, openPool } from '../postgres/database.ts'
import { DATABASE, PATTERN } from './stream.ts'

const silent = { error: () => {}, warn: () => {} }

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const servers = `nats://${host}:${port}`
  const bare = await connectBare({ servers })
  const address = (await bare.request(DATABASE, '', { timeout: 10_000 })).string()
  await bare.close()
  const pool = await openPool(address)
  const sql = postgres(address, { onnotice() {} })
  const client = connect({ transport: nats({ url: servers }), logger: silent })
  await client.connect()
  await migrate(sql)
  let relay: OutboxRelay | undefined
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    emit: (data) => inTransaction(pool, (tx) => outbox(tx).publish(PATTERN, data)),
    async fill(count) {
      const data = JSON.stringify(payload.value)
      await sql`
        select count(elysia_microservices.publish(
          gen_random_uuid()::text, ${PATTERN}, ${data}::text::json, null, null))
        from generate_series(1, ${count}::int)`
    },
    async takeStored(take) {
      relay = outboxRelay({
        sql,
        client: {
          async publish(pattern, data, options) {
            const published = await client.publish(pattern, data, options)
            take(data)
            return published
          }
        },
        batch: window,
        logger: silent
      })
      await relay.start()
    },
    async close() {
      await relay?.stop()
      await client.close()
      await sql.end()
      await pool.end()
    }
  }
}
