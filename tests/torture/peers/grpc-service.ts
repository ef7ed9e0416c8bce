/**
 * A service over gRPC in its own process, for hostile peers: as `service.ts` for TCP. Argument: options of `grpc()` as JSON.
 */
import { createInterface } from 'node:readline'
import { grpc } from '@elysia-microservices/grpc'
import { type Message, microservice } from 'elysia-microservices'
import { METHODS } from './grpc-methods.ts'
import { memory } from './memory.ts'
import './strict.ts'

/** The number of running handlers. */
let running = 0

async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  running++
  const kilobyte = 'x'.repeat(1_000)
  try {
    while (!signal.aborted) yield kilobyte
  } finally {
    running--
  }
}

const options = { host: '127.0.0.1', port: 0, proto: METHODS, ...JSON.parse(process.argv[2] ?? '{}') }
const transport = grpc(options)
const service = microservice({ transport, logger: { error() {}, warn() {} } })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('big', ({ data }: Message<number>) => 'x'.repeat(data))
  .message('later', async ({ data }: Message<unknown>) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return data
  })
  .message('endless', ({ signal }: Message<unknown>) => endless(signal))
  .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
    running++
    let total = 0
    try {
      for await (const value of data) total += value
    } finally {
      running--
    }
    return total
  })

await service.listen()
console.log(JSON.stringify({ port: service.address!.port }))

for await (const _line of createInterface({ input: process.stdin })) {
  const { connections, inFlight, streams, received, unsent } = transport.stats()
  const figures = { connections: connections.current, inFlight: inFlight.current, streams, received, unsent }
  console.log(JSON.stringify({ ...memory(), ...figures, running }))
}
process.exit()
