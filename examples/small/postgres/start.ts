/** On PostgreSQL alone: an order and its event in one transaction, a charge that happens once, a reminder later. */
import { once } from 'node:events'
import { migrateEvents, postgres } from '@elysia-microservices/postgres'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import sqlOf from 'postgres'

const sql = sqlOf(process.env['DATABASE_URL'] ?? 'postgres://localhost/shop', { onnotice: () => {} })
await migrateEvents(sql)
await sql`create table if not exists orders (id text primary key, charges integer not null default 0)`
const store = postgres({ sql })
const reminders = new EventTarget()

const shop = microservice({ name: 'shop', transport: 'tcp', port: 0, store })
  .message('place', ({ data: id }: Message<string>) =>
    sql.begin(async (tx) => {
      await tx`insert into orders (id) values (${id})`
      await store.in(tx).publish('placed', id, { key: id })
    })
  )
  .event('remind', () => void reminders.dispatchEvent(new Event('order')), { durable: true })
const charge = ({ data: id, delivery }: Message<string>) =>
  store.transaction(delivery, async (tx) => {
    await tx`update orders set charges = charges + 1 where id = ${id}`
    await store.in(tx).publish('remind', id, { delay: 1_000 })
    if (delivery?.attempt === 1) throw new Error('The bank is closed: nothing of this has happened')
  })
shop.event('placed', charge, { durable: { transactional: true, retry: { minDelay: 100 } } })
await shop.listen()

const client = connect<typeof shop>({ port: shop.address?.port as number })
const id = crypto.randomUUID()
const reminded = once(reminders, 'order')
await client.request('place', id)
await reminded
console.log('Reminded of an order with', ...(await sql`select charges from orders where id = ${id}`))
await client.close()
await shop.stop()
await sql.end()
