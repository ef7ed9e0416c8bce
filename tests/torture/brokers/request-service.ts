/**
 * A service over an engine in a process of its own. Arguments: the servers, separated by commas; the file to which
 * handlers write that they have run; and the milliseconds between PINGs. The service ends when its standard input
 * ends, and after SIGTERM when nothing is left to do.
 */

import { aborted, pause } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { RunRecorder } from '../support/record.ts'
import { brokerOf } from './engines/of-url.ts'

const [servers, record, pingInterval = '10000'] = process.argv.slice(2) as [string, string, string?]
const broker = await brokerOf(servers)
const recorder = new RunRecorder(record)
let open = 0

const service = microservice({
  name: 'torture',
  transport: broker.transport(servers.split(','), { pingInterval: Number(pingInterval) }),
  logger: { error() {}, warn() {} },
  drain: 5_000
})
  .message('echo', ({ data }: Message<number>) => {
    recorder.ran(data)
    return data
  })
  .message('work', async ({ data }: Message<number>) => {
    recorder.ran(data)
    await pause(2)
    return data
  })
  // Streams that end only when their reader leaves.
  .message('endless', async function* ({ data }: Message<number>) {
    open++
    try {
      for (let n = 0; ; n++) yield { n, text: 'x'.repeat(data) }
    } finally {
      open--
    }
  })
  .message('wait', async ({ signal }) => {
    open++
    await aborted(signal)
    open--
  })
  .message('open', () => ({ open, rss: process.memoryUsage.rss() }))

await service.listen()
process.stdin.resume().once('end', () => process.exit(1))
process.once('SIGTERM', () => {
  void service.stop().then(() => process.stdin.destroy())
})
console.log(JSON.stringify({ port: 0 }))
