/** Publishes a payment: `bun publish.ts <id> <account> <cents>`. NATS stores a payment with the same id only once. */
import { nats } from '@elysia-microservices/nats'
import { connect } from 'elysia-microservices/client'

const [id, account = '', cents] = process.argv.slice(2)
const client = connect({ transport: nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222' }) })
const stored = await client.publish(
  'payments.settled',
  { account, cents: Number(cents) },
  { id, key: account }
)
console.log(stored.duplicate ? 'was stored already' : `stored at ${stored.position}`)
await client.close()
