/** A program whose service has workers. Its argument is JSON: see `ProgramOptions`. Prints what happens on stdout. */
import { existsSync, readFileSync } from 'node:fs'
import { type Message, microservice, type ServiceOptions } from 'elysia-microservices'
import { type TcpServerOptions, type TlsServerOptions, tcp } from 'elysia-microservices/tcp'

/** The settings of the program. */
export interface ProgramOptions {
  readonly service?: ServiceOptions
  /** The options of its transport. */
  readonly tcp?: TcpServerOptions
  /** The port for HTTP: then the service is used in an app. */
  readonly http?: number
  /** Whether that app is used in another app, which listens. */
  readonly nested?: boolean
  /** Whether a second service with workers starts after the first. */
  readonly second?: boolean
  /** The folder with the certificates `service` and `renewed`: then the service uses TLS. */
  readonly tls?: string
  /** How workers fail: they throw before they listen, end right afterwards, or hang before they listen. */
  readonly failing?: 'before' | 'after' | 'hanging'
  /** A file: workers that are started when it exists hang before they listen. */
  readonly hangingWith?: string
}

/** A line of the program's output. */
export interface Fact {
  readonly address?: { readonly host: string; readonly port: number }
  readonly error?: { readonly name: string; readonly code: string; readonly message: string }
  readonly started?: number
  readonly pids?: readonly number[]
  readonly done?: string
}

const {
  service: options,
  tcp: tcpOptions,
  http,
  nested,
  second,
  tls,
  failing,
  hangingWith
} = JSON.parse(process.argv[2] ?? '{}') as ProgramOptions

function say(fact: Fact): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`)
}

function certificate(name: string): TlsServerOptions {
  return { cert: readFileSync(`${tls}/${name}.pem`), key: readFileSync(`${tls}/${name}.key`) }
}

const transport = tcp({
  host: '127.0.0.1',
  port: 0,
  ...(tls === undefined ? {} : { tls: certificate('service') }),
  ...tcpOptions
})
const service = microservice({ transport, drain: 20_000, ...options })
  .message('echo', ({ data }: Message<unknown>) => data)
  .message('pid', () => process.pid)
  .message('slow', async ({ data }: Message<number>) => {
    say({ done: 'begun' })
    await new Promise((resolve) => setTimeout(resolve, data))
    return process.pid
  })
  .message('until told', async () => {
    say({ done: 'begun' })
    await new Promise((resolve) => service.draining.addEventListener('abort', resolve, { once: true }))
    await new Promise((resolve) => setTimeout(resolve, 100))
    return process.pid
  })
  .message('arguments', () => process.argv.slice(2))
  .message('environment', () => Object.keys(process.env))

if (service.workers.role === 'worker') {
  say({ started: process.pid })
  if (failing === 'before') throw new Error('This worker is meant to fail')
  if (failing === 'hanging' || (hangingWith !== undefined && existsSync(hangingWith))) {
    setInterval(() => {}, 1_000)
    await new Promise(() => {})
  }
  if (failing === 'after') void service.listen().then(() => process.exit(1))
}
if (service.workers.role === 'supervisor') {
  const told = {
    SIGHUP: () => service.workers.restart(),
    SIGWINCH: () => transport.reloadTls(certificate('renewed'))
  }
  for (const [signal, what] of Object.entries(told))
    process.on(signal, () => void what().then(() => say({ done: signal })))
  process.on('SIGUSR2', async () => say({ pids: (await service.workers.figures()).map(({ pid }) => pid) }))
}

if (http !== undefined) {
  // Imported only if needed, because tests start a hundred of these processes.
  const { newApp } = await import('../support/http-app.ts')
  const app = newApp()
    .use(service)
    .get('/', () => process.pid)
    .get('/slow', async () => {
      say({ done: 'begun' })
      await new Promise((resolve) => setTimeout(resolve, 500))
      return process.pid
    })
  const listening = nested ? newApp().use(app) : app
  listening.listen(http)
}
try {
  await service.listen()
  if (second) await microservice({ transport: 'tcp', port: 0, workers: 2 }).listen()
  if (service.workers.role === 'supervisor') say({ address: service.address as NonNullable<Fact['address']> })
} catch (error) {
  const { name, code, message } = error as Error & { code: string }
  if (service.workers.role === 'worker') throw error
  say({ error: { name, code, message } })
  process.exitCode = 1
}
