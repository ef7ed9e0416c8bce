/** A service in a process of its own, for tests that kill it. The argument is its port; 0: any free port. */
import { type Message, microservice } from 'elysia-microservices'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: Number(process.argv[2]) })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('pid', () => process.pid)

await service.listen()
process.once('SIGTERM', () => void service.stop().then(() => process.exit()))
console.log(JSON.stringify(service.address))
