/**
 * The service under torture, in a process of its own. Its argument is a `ServiceSetup` as JSON. The service ends when
 * its standard input ends, so that it does not outlive its test. After SIGTERM, it only ends when nothing is left to
 * do: a leaked timer or connection would keep it alive, which the test notices.
 */
import { grpc } from '@elysia-microservices/grpc'
import { type TcpServerOptions, tcp } from '@elysia-microservices/tcp'
import { pause } from '@elysia-microservices/test-support'
import { type Logger, type Message, microservice } from 'elysia-microservices'
import { Database } from './database.ts'
import { METHODS } from './methods.ts'
import { RunRecorder } from './record.ts'

/** The settings of the service. */
export interface ServiceSetup {
  /** The port; 0: any free port. */
  readonly port: number
  /** The file to which handlers write that they have run. */
  readonly record: string
  /** The options of the server, such as its limits. */
  readonly options?: Pick<TcpServerOptions, 'limits'>
  /** Whether the service answers gRPC instead of RSocket and Nest's wire. */
  readonly isGrpc?: boolean
  /** Milliseconds of processor time that `burn` and `burn.async` take. */
  readonly burn?: number
  /** The database that `query` uses. */
  readonly database?: { readonly connections: number; readonly milliseconds: number }
}

const setup = JSON.parse(process.argv[2] as string) as ServiceSetup
/** Milliseconds that `slow` takes: far longer than its callers wait. */
const SLOW = 1_000

const recorder = new RunRecorder(setup.record)
const database = new Database(setup.database ?? { connections: 10, milliseconds: 5 })

function burn(): void {
  for (const end = performance.now() + (setup.burn ?? 0); performance.now() < end; );
}

function run(id: number): number {
  recorder.ran(id)
  return id
}

/** Nothing is logged, because refused and cut-off calls are in the table. */
const logger: Logger = { error() {}, warn() {} }

const place = { host: '127.0.0.1', port: setup.port }
const transport = setup.isGrpc ? grpc({ ...place, proto: METHODS }) : tcp({ ...place, ...setup.options })
const service = microservice({ transport, logger })
  .message('echo', ({ data }: Message<number>) => run(data))
  .message('work', async ({ data }: Message<number>) => {
    run(data)
    await pause(2)
    return data
  })
  .message('burn', ({ data }: Message<number>) => {
    burn()
    return run(data)
  })
  .message('burn.async', async ({ data }: Message<number>) => {
    burn()
    return run(data)
  })
  .message('query', async ({ data }: Message<number>) => {
    run(data)
    await database.query()
    return data
  })
  .message('large', async ({ data }: Message<{ id: number; text: string }>) => {
    run(data.id)
    await pause(20)
    return data
  })
  .message('count', async function* ({ data, signal }: Message<{ id: number; to: number }>) {
    run(data.id)
    for (let n = 0; n < data.to && !signal.aborted; n++) yield n
  })
  .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
    let sum = 0
    let isId = true
    for await (const value of data) {
      if (isId) run(value)
      else sum += value
      isId = false
    }
    return sum
  })
  .message('slow', ({ signal }: Message) => {
    // NestJS's protocol cannot tell that the caller no longer waits.
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, SLOW)
      const leave = () => {
        clearTimeout(timer)
        resolve(undefined)
      }
      signal.addEventListener('abort', leave, { once: true })
    })
  })
  .message('drop', ({ peer }: Message) => {
    peer?.disconnect()
  })
  .message('stats', () => transport.stats())
  .event('seen', ({ data }: Message<number>) => void run(data))

await service.listen()
process.stdin.resume().once('end', () => process.exit(1))
process.once('SIGTERM', () => {
  void service.stop().then(() => {
    // On Deno, standard input keeps a process running even if it is destroyed, so that leaks are noticed elsewhere only.
    if ('Deno' in globalThis) process.exit()
    else process.stdin.destroy()
  })
})
console.log(JSON.stringify(service.address))
