/** A service that keeps its processor busy for each event. Arguments: its port, 0 for any; milliseconds an event takes. */
import { type Message, microservice } from 'elysia-microservices'

const busy = Number(process.argv[3])
let events = 0

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: Number(process.argv[2]) })
  .event('slow', ({ data: _data }: Message<string>) => {
    const until = performance.now() + busy
    while (performance.now() < until);
    events++
  })
  .message('events', () => events)

await service.listen()
process.once('SIGTERM', () => void service.stop().then(() => process.exit()))
console.log(JSON.stringify(service.address))
