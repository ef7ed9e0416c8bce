/** A service that receives SIGTERM while it is starting: its start hook waits for a line on standard input. */
import { once } from 'node:events'
import { microservice } from 'elysia-microservices'

const service = microservice({
  name: 'orders',
  transport: 'tcp',
  host: '127.0.0.1',
  port: 0,
  shutdownOn: ['SIGTERM']
})
  .onStart(async () => {
    console.log('starting')
    await once(process.stdin, 'data')
  })
  .onStop(() => console.log('cleaned up'))
await service.listen()
