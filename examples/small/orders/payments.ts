/** Charges each order once, however often its event arrives. */
import { inbox } from '@elysia-microservices/outbox'
import { type Message, microservice } from 'elysia-microservices'
import { sql, transport } from './environment.ts'

export interface OrderPlaced {
  readonly id: string
  readonly amount: number
}

const handled = inbox(sql, 'payments.charge')

const payments = microservice({ name: 'payments', transport })
  .onStop(() => sql.end())
  .event(
    'orders.placed',
    async ({ data, delivery }: Message<OrderPlaced>) => {
      // The charge and the record that the event was handled are committed together.
      await handled.once(delivery!.id, (tx) => tx`insert into charges values (${data.id}, ${data.amount})`)
      console.log(`charged ${data.amount} for ${data.id}`)
    },
    { durable: { ordered: true, retry: { attempts: 5, minDelay: 1_000 } } }
  )
await payments.listen()
