/**
 * Over Kafka: the orders of a customer are charged in order. An order that fails delays the later orders of the same
 * customer, and no others.
 */
import { once } from 'node:events'
import { kafka } from '@elysia-microservices/kafka'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

interface Order {
  readonly id: number
}

const transport = kafka({ url: (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',') })
const done = new EventTarget()

const billing = microservice({ name: 'billing', transport }).event(
  'orders.placed',
  ({ data, delivery }: Message<Order>) => {
    if (data.id === 1 && delivery?.attempt === 1) throw new Error('The bank does not answer')
    console.log(`order ${data.id} of ${delivery?.key} is charged, at attempt ${delivery?.attempt}`)
    if (data.id === 2) done.dispatchEvent(new Event('charged'))
  },
  { durable: { ordered: true, retry: { attempts: 5, minDelay: 500 } } }
)
await billing.listen()

const charged = once(done, 'charged')
const client = connect<typeof billing>({ transport })
await client.publish('orders.placed', { id: 1 }, { key: 'ada' }) // resolves when all replicas have it
await client.publish('orders.placed', { id: 2 }, { key: 'ada' })
await client.publish('orders.placed', { id: 3 }, { key: 'bob' })
await charged
await client.close()
await billing.stop()
