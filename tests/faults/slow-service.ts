/**
 * A service that keeps its processor busy for each event. Arguments: its port (0: any free port), and the
 * milliseconds that an event takes.
 */
import { type Message, microservice } from 'elysia-microservices'

const busy = Number(process.argv[3])
let events = 0
/** Events handled in this turn of the event loop, and the highest number in any turn. */
let inTurn = 0
let mostInTurn = 0

function count(): void {
  events++
  if (inTurn++ > 0) return
  setImmediate(() => {
    mostInTurn = Math.max(mostInTurn, inTurn)
    inTurn = 0
  })
}

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: Number(process.argv[2]) })
  .event('slow', ({ data: _data }: Message<string>) => {
    const until = performance.now() + busy
    while (performance.now() < until);
    count()
  })
  .message('events', () => events)
  .message('mostInTurn', () => mostInTurn)

await service.listen()
process.once('SIGTERM', () => void service.stop().then(() => process.exit()))
console.log(JSON.stringify(service.address))
