/** The stock of articles in PostgreSQL, and the events about it. Written as functions with schemas. */
import { setTimeout } from 'node:timers/promises'
import { migrate, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { telemetry } from '@elysia-microservices/telemetry'
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import postgres from 'postgres'
import { addressOf, broker, given } from '../environment.ts'
import { OUT_OF_STOCK } from '../errors.ts'

const sql = postgres(given('DATABASE_URL'), { max: 10, onnotice: () => {} })

await migrate(sql)
await sql`create table if not exists items (sku text primary key, price integer not null, "left" integer not null)`
await sql`create table if not exists reservations (
  "order" text primary key, sku text not null references items, count integer not null)`
await sql`insert into items values ('tea', 3, 10000), ('cake', 3, 2) on conflict do nothing`

/** The event of a reservation. */
export interface Reserved {
  readonly order: string
  readonly amount: number
}

const client = connect({ transport: broker() })

const Reservation = t.Object({ order: t.String(), sku: t.String(), count: t.Integer({ minimum: 1 }) })

export const stock = microservice({
  name: 'stock',
  transport: 'tcp',
  ...addressOf('stock'),
  // Twice as many requests as the pool has connections. Further requests are refused at once, and their callers try
  // again.
  limits: { inFlight: 20 }
})
  .wrap(telemetry())
  .use(outboxRelay({ sql, client }))
  .use(client)
  .onStop(() => sql.end())
  .message(
    'stock.left',
    async ({ data: { sku }, fail }) => {
      const [item] = await sql<{ left: number }[]>`select "left" from items where sku = ${sku}`
      return item ?? fail('NOT_FOUND', undefined, `There is no ${sku}`)
    },
    {
      data: t.Object({ sku: t.String() }),
      response: t.Object({ left: t.Integer() }),
      errors: { NOT_FOUND: {} }
    }
  )
  // Sends the stock each second, as long as the caller reads.
  .message(
    'stock.watch',
    async function* ({ data: { sku }, signal }) {
      do yield* await sql<{ left: number }[]>`select "left" from items where sku = ${sku}`
      while (await setTimeout(1_000, true, { signal }))
    },
    { data: t.Object({ sku: t.String() }), response: t.Object({ left: t.Integer() }) }
  )
  // Reserves articles once for each order, even if the request comes several times. Answers false if the order was
  // reserved before. The event is written in the same transaction as the reservation: there is an event exactly if
  // there is a reservation.
  .message(
    'stock.reserve',
    ({ data: { order, sku, count }, fail }) =>
      // An error rolls the transaction back.
      sql.begin(async (transaction) => {
        const { count: made } = await transaction`
          insert into reservations select ${order}, sku, ${count} from items where sku = ${sku} on conflict do nothing`
        if (made === 0) {
          const [known] = await transaction`select from items where sku = ${sku}`
          if (known === undefined) throw fail('NOT_FOUND', undefined, `There is no ${sku}`)
          return false
        }
        const [taken] = await transaction<{ price: number }[]>`
          update items set "left" = "left" - ${count} where sku = ${sku} and "left" >= ${count} returning price`
        if (taken !== undefined) {
          const reserved: Reserved = { order, amount: count * taken.price }
          await outbox(transaction).publish('stock.reserved', reserved, { id: order, key: order })
          return true
        }
        const [item] = await transaction<{ left: number }[]>`select "left" from items where sku = ${sku}`
        throw fail('OUT_OF_STOCK', { left: item?.left ?? 0 }, `Not so much ${sku} is left`)
      }),
    { data: Reservation, response: t.Boolean(), errors: { NOT_FOUND: {}, OUT_OF_STOCK } }
  )

await stock.listen()
