/**
 * A service that receives the retained events of an MQTT server, in a process of its own. Argument: the server. The
 * service ends when its standard input ends.
 */
import { mqtt } from '@elysia-microservices/mqtt'
import { type Message, microservice } from 'elysia-microservices'

const seen = new Set<number>()
let all = 0
const service = microservice({
  name: 'late',
  transport: mqtt({ url: process.argv[2] as string, events: 'every-process' }),
  logger: { error() {}, warn() {} }
})
  .message('seen', () => ({ distinct: seen.size, all }))
  .event('kept/+', ({ data }: Message<number>) => {
    all++
    seen.add(data)
  })

await service.listen()
process.stdin.resume().once('end', () => process.exit(1))
console.log(JSON.stringify({ port: 0 }))
