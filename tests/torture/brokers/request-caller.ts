/** A caller over an engine in a process of its own, which is killed while it reads streams. Argument: the servers. */
import { connect } from 'elysia-microservices/client'
import { brokerOf } from './engines/of-url.ts'

const urls = process.argv[2] as string
const broker = await brokerOf(urls)
const client = connect({ transport: broker.transport(urls.split(',')) })
const streams = Array.from({ length: 5 }, () => client.stream('endless', 100))
// All streams have begun, and go on.
await Promise.all(streams.map((stream) => stream.next()))
const calls = Array.from({ length: 5 }, () => client.request('wait', 0, { timeout: false }))
await client.request('open')
console.log(JSON.stringify({ port: 0 }))
await Promise.race([
  ...calls,
  ...streams.map(async (stream) => {
    for await (const _ of stream);
  })
])
