/**
 * Takes orders over HTTP. An order and its event are written in one transaction, so there is never one without the
 * other.
 */
import { outbox, outboxRelay } from '@elysia-microservices/outbox'
import { Elysia, t } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { sql, transport } from './environment.ts'
import type { OrderPlaced } from './payments.ts'

const port = Number(process.env['PORT'] ?? 3000)

const client = connect({ transport })
const relay = outboxRelay({ sql, client })
await relay.start()

const app = new Elysia()
  .post(
    '/orders',
    async ({ body, status }) => {
      await sql.begin(async (tx) => {
        const { count } =
          await tx`insert into orders values (${body.id}, ${body.amount}) on conflict do nothing`
        // An order that is sent twice publishes only one event.
        if (count === 1)
          await outbox(tx).publish('orders.placed', body satisfies OrderPlaced, { key: body.id })
      })
      return status(202, body)
    },
    { body: t.Object({ id: t.String({ minLength: 1 }), amount: t.Number({ minimum: 1 }) }) }
  )
  .get('/orders/:id', async ({ params, status }) => {
    const [order] = await sql`
      select id, orders.amount, charges.amount as charged
      from orders left join charges on order_id = id where id = ${params.id}`
    return order ?? status(404, { code: 'NOT_FOUND', message: `There is no order ${params.id}` })
  })
  .listen(port)

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    await app.stop()
    await relay.stop()
    await client.close()
    await sql.end()
  })
