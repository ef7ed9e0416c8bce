/**
 * A service in its own process, for hostile peers. Argument: options of TCP as JSON. Each line of its input is a
 * command, which is answered by a line of JSON. The service ends when its input ends.
 */
import { createInterface } from 'node:readline'
import { type Message, microservice, RpcError } from 'elysia-microservices'
import { tcp } from 'elysia-microservices/tcp'
import { finalize, interval, Observable } from 'rxjs'
import { memory } from './memory.ts'
import './strict.ts'

/** The number of running handlers. */
let running = 0
/** How often `once` was run for each key. */
const runs = new Map<unknown, number>()

async function* endless(signal: AbortSignal): AsyncGenerator<number> {
  running++
  try {
    for (let n = 0; !signal.aborted; n++) yield n
  } finally {
    running--
  }
}

function failing(): never {
  running--
  throw new Error('a clean-up fails')
}

/** Streams whose clean-up throws, by kind: an Observable, an unsubscription, a generator. */
const TEARDOWNS: Readonly<Record<string, () => unknown>> = {
  finalize: () => interval(5).pipe(finalize(failing)),
  unsubscribe: () =>
    new Observable((subscriber) => {
      const timer = setInterval(() => subscriber.next(0), 5)
      return () => {
        clearInterval(timer)
        failing()
      }
    }),
  generator: async function* () {
    try {
      for (let n = 0; ; n++) yield n
    } finally {
      failing()
    }
  },
  abort: () => new Promise(() => {})
}

const transport = tcp({ host: '127.0.0.1', port: 0, ...JSON.parse(process.argv[2] ?? '{}') })
// Broken input is logged each time, which these scenarios do not need.
const service = microservice({ transport, logger: { error() {}, warn() {} } })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('big', ({ data }: Message<number>) => 'x'.repeat(data))
  .message('once', ({ data }: Message<unknown>) => {
    runs.set(data, (runs.get(data) ?? 0) + 1)
    return data
  })
  .message('later', async ({ data }: Message<unknown>) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return data
  })
  .message('after', async ({ data }: Message<{ ms: number; value: unknown }>) => {
    await new Promise((resolve) => setTimeout(resolve, data.ms))
    return data.value
  })
  .message('never', ({ signal }: Message<unknown>) => {
    running++
    return new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        running--
        resolve()
      })
    })
  })
  .message('count', function* ({ data }: Message<number>) {
    for (let n = 0; n < data; n++) yield n
  })
  .message('endless', ({ signal }: Message<unknown>) => endless(signal))
  .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
    let total = 0
    if (typeof data === 'object') for await (const value of data) total += value
    return total
  })
  .message('fail', () => {
    throw new RpcError({ code: 'REFUSED', message: 'no' })
  })
  .message('remaining', ({ remaining }: Message<unknown>) => remaining ?? null)
  .message('teardown', ({ data, signal }: Message<string>) => {
    running++
    if (data === 'abort') signal.addEventListener('abort', failing)
    return TEARDOWNS[data]?.()
  })
  .message('clock', () => Date.now())
  .event('note', () => {})

await service.listen()
console.log(JSON.stringify({ port: service.address!.port }))

const realNow = Date.now
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as { jump?: number }
  if (command.jump !== undefined) Date.now = () => realNow() + command.jump!
  const { connections, inFlight, streams, received, unsent, resumable, refused } = transport.stats()
  console.log(
    JSON.stringify({
      ...memory(),
      connections: connections.current,
      inFlight: inFlight.current,
      streams,
      received,
      unsent,
      waiting: resumable.connections.current,
      waitingBytes: resumable.bytes.current,
      givenUp: refused.waiting,
      running,
      doubled: [...runs.values()].filter((count) => count > 1).length
    })
  )
}
process.exit()
