/** What there is to sell, in PostgreSQL. Functions with schemas. */
import { t } from 'elysia'
import { microservice, RpcError } from 'elysia-microservices'
import postgres from 'postgres'
import { addressOf, given } from '../environment.ts'

const sql = postgres(given('DATABASE_URL'), { max: 10, onnotice: () => {} })

await sql`create table if not exists items (sku text primary key, "left" integer not null)`
await sql`create table if not exists reservations (
  "order" text primary key, sku text not null references items, count integer not null)`
await sql`insert into items values ('tea', 10000), ('cake', 2) on conflict do nothing`

const Reservation = t.Object({ order: t.String(), sku: t.String(), count: t.Integer({ minimum: 1 }) })

export const stock = microservice({
  name: 'stock',
  transport: 'tcp',
  ...addressOf('stock'),
  // Twice what the pool can do at a time: who comes then is refused at once, and tries again.
  limits: { inFlight: 20 },
  shutdownOn: ['SIGTERM']
})
  .message(
    'stock.left',
    async ({ data }) => {
      const [item] = await sql<{ left: number }[]>`select "left" from items where sku = ${data.sku}`
      if (item === undefined) throw new RpcError({ code: 'NOT_FOUND', message: `There is no ${data.sku}` })
      return item
    },
    { data: t.Object({ sku: t.String() }), response: t.Object({ left: t.Integer() }) }
  )
  .message('stock.reserve', ({ data }) => reserve(data), { data: Reservation, response: t.Boolean() })

/** Reserves once for each order, however often it is asked. False: it was done before. */
function reserve({ order, sku, count }: typeof Reservation.static): Promise<boolean> {
  return sql.begin(async (transaction) => {
    const { count: made } = await transaction`
      insert into reservations select ${order}, sku, ${count} from items where sku = ${sku} on conflict do nothing`
    if (made === 0) {
      const [known] = await transaction`select from items where sku = ${sku}`
      if (known === undefined) throw new RpcError({ code: 'NOT_FOUND', message: `There is no ${sku}` })
      return false
    }
    const { count: taken } = await transaction`
      update items set "left" = "left" - ${count} where sku = ${sku} and "left" >= ${count}`
    if (taken === 0) throw new RpcError({ code: 'OUT_OF_STOCK', message: `Not so much ${sku} is left` })
    return true
  })
}

await stock.listen()
