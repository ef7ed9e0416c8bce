/**
 * A service with a WebSocket door, in its own process. Argument: the options of the door as JSON. Each line of its
 * input is answered by a line of JSON with its current state. The service ends when its input ends.
 */
import { createInterface } from 'node:readline'
import { memory as transport } from '@elysia-microservices/transport'
import { websocket } from '@elysia-microservices/websocket'
import { type Message, microservice } from 'elysia-microservices'
import { listen, newApp } from '../../support/http-app.ts'
import { memory } from './memory.ts'
import './strict.ts'

/** The number of running streams. */
let running = 0
/** How often each key has arrived, as a request or an event. */
const runs = new Map<unknown, number>()
let noted = 0

const ran = (key: unknown) => runs.set(key, (runs.get(key) ?? 0) + 1)

async function* following<Value>(values: Iterable<Value> | AsyncIterable<Value>): AsyncGenerator<Value> {
  running++
  try {
    for await (const value of values) yield value
  } finally {
    running--
  }
}

function* numbers(): Generator<number> {
  for (let n = 0; ; n++) yield n
}

const service = microservice({ transport: transport(), logger: { error() {}, warn() {} } })
  .message('once', async ({ data }: Message<unknown>) => {
    ran(data)
    // Some requests are answered when their client has another connection already.
    await new Promise((resolve) => setTimeout(resolve, 5))
    return data
  })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('endless', () => following(numbers()))
  .message('mirror', ({ data }: Message<AsyncIterable<number>>) => following(data))
  .event('note', ({ data }: Message<unknown>) => {
    noted++
    ran(data)
  })

const { url } = await listen(
  newApp()
    .use(service)
    .use(websocket({ ...JSON.parse(process.argv[2] ?? '{}'), expose: ['>'] }))
)
console.log(JSON.stringify({ port: Number(new URL(url).port) }))

for await (const _ of createInterface({ input: process.stdin })) {
  const door = service.stats().find(({ transport }) => transport === 'websocket')
  console.log(
    JSON.stringify({
      ...memory(),
      ...(door !== undefined && {
        connections: (door as { connections?: { current: number } }).connections?.current,
        inFlight: door.inFlight.current,
        streams: door.streams
      }),
      running,
      noted,
      doubled: [...runs.values()].filter((count) => count > 1).length
    })
  )
}
process.exit()
