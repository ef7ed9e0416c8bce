/**
 * A process whose clock jumps, with a handler of events that waited and one that recurs; it writes each delivery:
 * `bun later-program.ts <store> <address>`.
 */
import { drive, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import type { AnyStore } from '@elysia-microservices/transport'
import { type Message, memory, microservice } from 'elysia-microservices'

/** Milliseconds between jumps of the clock, and how far it may be off. */
const JUMPS = 150
const MOST = 1_800_000

const [kind = '', address = ''] = process.argv.slice(2)
const { now } = Date
let off = 0
Date.now = () => now() + off
setInterval(() => {
  off = Math.round((2 * Math.random() - 1) * MOST)
}, JUMPS)

async function storeOf(): Promise<AnyStore> {
  if (kind === 'nats')
    return (await import('@elysia-microservices/nats')).nats({ url: address, durable: { ackWait: 1_000 } })
  if (kind === 'redis')
    return (await import('@elysia-microservices/redis')).redis({ url: address, durable: { ackWait: 1_000 } })
  const { postgres } = await import('@elysia-microservices/postgres')
  return postgres({ sql: drive(MAIN_DRIVER, address).sql, ackWait: 1_000 })
}

const note = ({ pattern, delivery }: Message) =>
  console.log(JSON.stringify([pattern, delivery?.id, delivery?.position, delivery?.publishedAt]))
await microservice({
  name: 'later',
  transport: { ...memory(), name: 'calls' },
  store: await storeOf(),
  logger: { warn() {}, error() {} }
})
  .event('later', note, { durable: true })
  .event('tick', note, { durable: { every: { cron: '* * * * * *', timeZone: 'UTC' } } })
  .listen()
console.log('ready')
