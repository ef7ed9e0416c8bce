/** The connections that both services use. */
import { nats } from '@elysia-microservices/nats'
import { migrate } from '@elysia-microservices/outbox'
import postgres from 'postgres'

const { DATABASE_URL = 'postgres://localhost/orders', NATS_URL = 'nats://localhost:4222' } = process.env

export const transport = nats({ url: NATS_URL })
export const sql = postgres(DATABASE_URL, { onnotice() {} })

// Creates each table once, whichever service starts first.
await migrate(sql)
await sql.begin(async (tx) => {
  await tx`select pg_advisory_xact_lock(1)`
  await tx`create table if not exists orders (id text primary key, amount int not null)`
  await tx`create table if not exists charges (order_id text primary key, amount int not null)`
})
