/** Over RabbitMQ: an event is stored once for each service that handles it, and a failed attempt is retried. */
import { once } from 'node:events'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

interface Order {
  readonly id: number
}

const transport = rabbitmq({ url: process.env['RABBITMQ_URL'] ?? 'amqp://localhost' })
const done = new EventTarget()

const billing = microservice({ name: 'billing', transport }).event(
  'orders.placed',
  ({ data, delivery }: Message<Order>) => {
    if (delivery?.attempt === 1) throw new Error('The bank does not answer')
    console.log(`order ${data.id} is charged, at attempt ${delivery?.attempt}`)
    done.dispatchEvent(new Event('charged'))
  },
  { durable: { retry: { attempts: 5, minDelay: 100 } } }
)
const mailing = microservice({ name: 'mailing', transport }).event(
  'orders.placed',
  ({ data }: Message<Order>) => {
    console.log(`a mail about order ${data.id} is sent`)
    done.dispatchEvent(new Event('mailed'))
  },
  { durable: true }
)
for (const service of [billing, mailing]) await service.listen()

const both = Promise.all([once(done, 'charged'), once(done, 'mailed')])
const client = connect<typeof billing>({ transport })
await client.publish('orders.placed', { id: 7 }) // resolves when RabbitMQ has stored it
await both
await client.close()
for (const service of [billing, mailing]) await service.stop()
