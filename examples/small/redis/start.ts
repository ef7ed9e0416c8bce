/** Over Redis: two instances of a service share its calls, and one of the two gets each event. */
import { once } from 'node:events'
import { redis } from '@elysia-microservices/redis'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

const transport = redis({ url: process.env['REDIS_URL'] ?? 'redis://localhost:6379' })
const shipped = new EventTarget()

/** In production each instance runs in its own process. */
const newOrders = (instance: string) =>
  microservice({ name: 'orders', transport })
    .message('orders.total', ({ data }: Message<number[]>) => ({
      instance,
      total: data.reduce((a, b) => a + b, 0)
    }))
    .event('orders.placed', ({ data }: Message<{ id: number }>) => {
      console.log(`order ${data.id} is shipped`)
      shipped.dispatchEvent(new Event('order'))
    })

const instances = [newOrders('a'), newOrders('b')]
for (const instance of instances) await instance.listen()

const client = connect<ReturnType<typeof newOrders>>({ transport })
const answers = await Promise.all(
  Array.from({ length: 50 }, (_, n) => client.request('orders.total', [n, 1]))
)
const shared = new Set(answers.map(({ instance }) => instance))
console.log(`${answers.length} answers of ${shared.size} instances, the last is ${answers.at(-1)?.total}`)

const order = once(shipped, 'order')
await client.emit('orders.placed', { id: 7 })
await order

await client.close()
for (const instance of instances) await instance.stop()
