/**
 * A service with durable handlers in a process of its own. Arguments: the servers, separated by commas; the file to
 * which its handlers write; `ordered` or not; the number of copies; and the milliseconds that a handler takes (0: up
 * to 4, at random). The service ends when its standard input ends, and after SIGTERM when nothing is left to do.
 *
 * Each line of the file is `<what> <key> <number>`, with `run` when a handler begins, and `done` when it has
 * succeeded.
 */
import { openSync, writeSync } from 'node:fs'
import { pause } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { brokerOf } from './engines/of-url.ts'

const [servers, path, kind, replicas, takes] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string
]
const file = openSync(path, 'a')
const note = (what: string, key: string, n: number) => writeSync(file, `${what} ${key} ${n} ${process.pid}\n`)

const broker = await brokerOf(servers)
const service = microservice({
  name: 'torture',
  transport: broker.transport(servers.split(','), { ackWait: 2_000, replicas: Number(replicas) }),
  logger: { error() {}, warn() {} },
  drain: 10_000
}).event(
  'torture.event',
  async ({ data: n, delivery }: Message<number>) => {
    const key = delivery?.key ?? 'none'
    note('run', key, n)
    if (key.startsWith('poison')) throw new Error('poisoned')
    // The delay of the retry is shorter than the engine needs to confirm it.
    if (n % 10 === 0 && delivery?.attempt === 1) throw new Error('not yet')
    await pause(Number(takes) || Math.random() * 4)
    note('done', key, n)
  },
  {
    durable: {
      start: broker.hasLog ? 'all' : 'new',
      ordered: kind === 'ordered',
      concurrency: 64,
      retry: { attempts: 4, minDelay: 10, factor: 1 }
    }
  }
)

await service.listen()
process.stdin.resume().once('end', () => process.exit(1))
process.once('SIGTERM', () => {
  void service.stop().then(() => process.stdin.destroy())
})
console.log(JSON.stringify({ port: 0 }))
