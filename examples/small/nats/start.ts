/**
 * Over NATS: a pattern with a wildcard, a stream that its reader leaves early, and an event that JetStream keeps
 * until it was handled.
 */
import { once } from 'node:events'
import { nats } from '@elysia-microservices/nats'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

const transport = nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222' })
const payments = new EventTarget()

const shop = microservice({ name: 'shop', transport })
  .message('stock.*', ({ params: [item] }) => `${item}: ${item.length} left`)
  .message('ticks', async function* () {
    for (let n = 0; ; n++) yield n
  })
  .event(
    'payments.settled',
    ({ data, delivery }: Message<{ order: string }>) => {
      // The first attempt fails, and the event is delivered again.
      if (delivery?.attempt === 1) throw new Error('The database is away')
      console.log(`order ${data.order} is paid, at attempt ${delivery?.attempt}`)
      payments.dispatchEvent(new Event('settled'))
    },
    { durable: { retry: { attempts: 5, minDelay: 100 } } }
  )
await shop.listen()

const client = connect<typeof shop>({ transport })
console.log(await client.request('stock.tea'))
for await (const n of client.stream('ticks')) if (n === 3) break

const settled = once(payments, 'settled')
await client.publish('payments.settled', { order: '7' })
await settled

await client.close()
await shop.stop()
