/** A service and its caller in one program: `bun start.ts`. In a real system each of them is a program of its own. */
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

const port = Number(process.env['PORT'] ?? 4000)

const math = microservice({ transport: 'tcp', port })
  .message('math.sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
  .message('math.count', async function* ({ data, signal }: Message<number>) {
    for (let i = 0; i < data && !signal.aborted; i++) yield i
  })
await math.listen()

const client = connect<typeof math>({ port })
console.log(await client.request('math.sum', [1, 2, 3]))
for await (const n of client.stream('math.count', 3)) console.log(n)

await client.close()
await math.stop()
