/** A program whose service has workers. Its argument is JSON: see `ProgramOptions`. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { type Message, type MicroserviceOptions, microservice } from 'elysia-microservices'
import { underBun } from '../workspace.ts'

/** What a test may want of the program. */
export interface ProgramOptions {
  readonly service?: Partial<MicroserviceOptions>
  /** Port for HTTP: the service is used in an app. */
  readonly http?: number
  /** What goes wrong in workers: they throw before they listen, or as soon as they do. */
  readonly failing?: 'before' | 'after'
}

const { service: options, http, failing } = JSON.parse(process.argv[2] ?? '{}') as ProgramOptions

/** Tells whoever has started the program, on a line of its own. */
function say(fact: object): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`)
}

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, drain: 5_000, ...options })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('pid', () => process.pid)
  .message('role', () => service.role)
  .message('slow', async ({ data }: Message<number>) => {
    await new Promise((resolve) => setTimeout(resolve, data))
    return process.pid
  })
  .message('spin', ({ data }: Message<number>) => {
    for (const end = performance.now() + data; performance.now() < end; );
    return process.pid
  })
  .message('arguments', () => ({ argv: process.argv.slice(2), env: process.env['ELYSIA_MICROSERVICES_WORKER'] }))
  .message('crash', () => process.exit(3))

if (service.role === 'worker') {
  say({ started: process.pid })
  if (failing === 'before') throw new Error('This worker is meant to fail')
  if (failing === 'after') void service.listen().then(() => process.exit(1))
}
if (service.role === 'supervisor') process.on('SIGHUP', () => void service.reload())
process.on('SIGUSR2', () => void service.workers().then((workers) => say({ workers })))

if (http !== undefined) {
  const app = underBun ? new Elysia() : new Elysia({ adapter: node() })
  app
    .use(service)
    .get('/', () => process.pid)
    .listen(http)
}
try {
  await service.listen()
  if (service.role === 'supervisor') say({ address: service.address, pid: process.pid })
} catch (error) {
  const { name, code, message } = error as Error & { code: string }
  say({ error: { name, code, message } })
  process.exitCode = 1
  if (service.role === 'worker') process.exit()
}
