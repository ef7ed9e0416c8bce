/**
 * A service whose durable handler is slow, in a process of its own. After SIGUSR2 the handler is fast. Arguments: the
 * NATS server, the file to which the handler writes the number of each event, and the milliseconds that the handler
 * takes. The service ends when its standard input ends.
 */
import { openSync, writeSync } from 'node:fs'
import { nats } from '@elysia-microservices/nats'
import { pause } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'

const [server, path, takes] = process.argv.slice(2) as [string, string, string]
const file = openSync(path, 'a')
let isHurrying = false
process.on('SIGUSR2', () => {
  isHurrying = true
})

const service = microservice({ name: 'torture', transport: nats({ url: server }) }).event(
  'torture.flood',
  async ({ data }: Message<{ n: number }>) => {
    if (!isHurrying) await pause(Number(takes))
    writeSync(file, `${data.n}\n`)
  },
  { durable: { start: 'all' } }
)
await service.listen()
process.stdin.resume().once('end', () => process.exit(1))
console.log(JSON.stringify({ port: 0 }))
