/** `health()`: answers probes, such as those of Kubernetes, in an Elysia app or on a separate port. */
import { createServer, type Server } from 'node:http'
import { atLeast, ListenError, type WatchedService } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { Health, type HealthOptions } from './report.ts'

/** Options of `health()` on a separate port. */
export interface HealthPortOptions extends HealthOptions {
  /**
   * The port on which probes are answered, for a service without HTTP: `service.use(health({ port: 8081 }))`. 0:
   * any free port.
   */
  readonly port: number
  /**
   * The address on which probes are answered. Default: all addresses of the machine, because probes come from
   * outside.
   */
  readonly host?: string | undefined
}

/** The plugin that `health()` returns for an Elysia app. */
export type HealthPlugin = <App extends AnyElysia>(app: App) => App

/** The result of `health({ port })`: a plugin for a service. */
export interface HealthServer {
  <Service extends WatchedService>(service: Service): Service
  /** Resolves to the port once the server listens. */
  readonly port: Promise<number>
  /** Closes the server. The server does not keep the process alive, so few programs need this method. */
  close(): void
}

const PATHS = ['/livez', '/readyz', '/healthz'] as const
type Path = (typeof PATHS)[number]
/**
 * A function that `preload.ts` of `elysia-microservices dev` defines. That command sees all ports of a process, and
 * learns from this function what a port is for.
 */
const TELL_PURPOSE = Symbol.for('elysia-microservices.tell-purpose')

/**
 * Answers probes with status 200 or 503: `/livez` (the process answers at all), `/readyz` (its services listen and
 * are not draining, and all checks pass), `/healthz` (as `/readyz`, with reasons, as JSON). Reasons contain the
 * messages of errors, so restrict who can reach `/healthz`.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { health } from '@elysia-microservices/telemetry'
 * import { microservice } from 'elysia-microservices'
 *
 * microservice({ transport: 'tcp' }).use(health({ port: 8081 })) // a port of its own
 * ```
 */
export function health(options?: HealthOptions): HealthPlugin
export function health(options: HealthPortOptions): HealthServer
export function health(options: HealthOptions | HealthPortOptions = {}): HealthPlugin | HealthServer {
  const state = new Health(options)
  return 'port' in options && options.port !== undefined ? serve(state, options) : plugin(state)
}

function plugin(state: Health): HealthPlugin {
  return <App extends AnyElysia>(app: App): App => {
    for (const path of PATHS) {
      app.get(path, async () => {
        const { status, type, body } = await answer(state, path)
        return new Response(body, { status, headers: { 'content-type': type } })
      })
    }
    return app
  }
}

function serve(state: Health, { port, host }: HealthPortOptions): HealthServer {
  atLeast(0, 'options.port', port)
  const server = createServer(async (request, response) => {
    const path = PATHS.find((each) => each === request.url?.split('?')[0])
    if (path === undefined) return response.writeHead(404).end()
    const { status, type, body } = await answer(state, path)
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  server.on('error', (error) => {
    // The server listens, and could not take a connection: probes notice it.
    if (server.listening) return
    // As for a service that cannot listen, the process ends with this error, because it must not look healthy.
    throw new ListenError(`${host ?? 'any address'}, port ${port}`, error)
  })
  const listening = listen(server, port, host)
  const plugin = <Service extends WatchedService>(service: Service): Service => {
    state.add(service)
    return service
  }
  return Object.assign(plugin, {
    port: listening,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  })
}

function listen(server: Server, port: number, host: string | undefined): Promise<number> {
  return new Promise((resolve) => {
    server.listen(port, host, () => {
      server.unref()
      const address = server.address()
      const listening = typeof address === 'object' && address !== null ? address.port : port
      const { [TELL_PURPOSE]: tell } = globalThis as {
        [TELL_PURPOSE]?: (port: number, purpose: string) => void
      }
      tell?.(listening, 'health')
      resolve(listening)
    })
  })
}

async function answer(state: Health, path: Path): Promise<{ status: number; type: string; body: string }> {
  if (path === '/livez') return { status: 200, type: 'text/plain', body: 'ok' }
  const report = await state.report()
  const status = report.ok ? 200 : 503
  if (path === '/readyz') return { status, type: 'text/plain', body: report.ok ? 'ok' : 'not ready' }
  return { status, type: 'application/json', body: JSON.stringify(report) }
}
