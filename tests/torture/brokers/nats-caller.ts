/** A caller over NATS in a process of its own, which is killed in the middle of what it reads. Argument: the servers. */
import { nats } from '@elysia-microservices/nats'
import { connect } from 'elysia-microservices/client'

const client = connect({ transport: nats({ servers: (process.argv[2] as string).split(',') }) })
const streams = Array.from({ length: 5 }, () => client.stream('endless', 100))
// All have begun, and go on.
await Promise.all(streams.map((stream) => stream.next()))
const calls = Array.from({ length: 5 }, () => client.request('wait', 0, { timeout: 0 }))
await client.request('open')
console.log(JSON.stringify({ port: 0 }))
await Promise.race([
  ...calls,
  ...streams.map(async (stream) => {
    for await (const _ of stream);
  })
])
