/** Observes the requests to HTTP servers of the process: those of Node, and those of `Bun.serve`. */
import http from 'node:http'
import { attribute } from './exporter.ts'

/** The span of one request. */
export interface HttpSpan {
  run<Result>(work: () => Result): Result
  end(error?: unknown, more?: object[]): void
}

/** Makes a span for each request to an HTTP server of the process, whichever framework answers it. */
export function watchHttp(
  begin: (method: string, path: string, parent: string | undefined) => HttpSpan
): void {
  const { emit } = http.Server.prototype
  http.Server.prototype.emit = function (this: http.Server, event: string | symbol, ...args: unknown[]) {
    if (event !== 'request') return Reflect.apply(emit, this, [event, ...args])
    const [request, response] = args as [http.IncomingMessage, http.ServerResponse]
    const span = begin(request.method ?? '', pathOf(request.url), textOf(request.headers['traceparent']))
    response.once('close', () => span.end(...outcomeOf(response.statusCode)))
    return span.run(() => Reflect.apply(emit, this, [event, ...args]))
  } as typeof emit
  watchBun(begin)
}

type Answer = (this: unknown, ...args: unknown[]) => unknown

/** The options of `Bun.serve` that answer requests. */
interface BunOptions {
  readonly fetch?: Answer
  /** The routes: functions, or functions by methods. Other values are responses. */
  readonly routes?: Readonly<Record<string, unknown>>
}

interface BunServer {
  reload(options: BunOptions): unknown
}

function watchBun(begin: Parameters<typeof watchHttp>[0]): void {
  const bun = (globalThis as { Bun?: { serve(options: BunOptions): BunServer } }).Bun
  if (bun === undefined) return
  const traced = (answer: unknown): unknown => {
    if (typeof answer !== 'function') return answer
    return function (this: unknown, ...args: unknown[]) {
      const [{ method, url, headers }] = args as [Request]
      const span = begin(method, pathOf(new URL(url).pathname), headers.get('traceparent') ?? undefined)
      return span.run(async () => {
        try {
          const response = (await Reflect.apply(answer, this, args)) as Response | undefined
          span.end(...outcomeOf(response?.status ?? 101))
          return response
        } catch (error) {
          span.end(error)
          throw error
        }
      })
    }
  }
  const tracedRoute = (route: unknown): unknown =>
    Object.getPrototypeOf(Object(route)) === Object.prototype
      ? Object.fromEntries(
          Object.entries(route as object).map(([method, answer]) => [method, traced(answer)])
        )
      : traced(route)
  const tracedOptions = (options: BunOptions): BunOptions => {
    const { fetch, routes } = options
    return {
      ...options,
      ...(fetch !== undefined && { fetch: traced(fetch) as Answer }),
      ...(routes !== undefined && {
        routes: Object.fromEntries(Object.entries(routes).map(([path, route]) => [path, tracedRoute(route)]))
      })
    }
  }
  const { serve } = bun
  bun.serve = (options) => {
    const server = serve.call(bun, tracedOptions(options))
    const { reload } = server
    // Elysia calls `reload` with its routes when its plugins have been loaded.
    server.reload = (next) => reload.call(server, tracedOptions(next))
    return server
  }
}

/** The outcome of a request's span. */
function outcomeOf(status: number): [error: unknown, attributes: object[]] {
  return [
    status >= 500 ? new Error(`status ${status}`) : undefined,
    [attribute('http.response.status_code', String(status))]
  ]
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** The path without the query, which may contain secrets. */
function pathOf(url = '/'): string {
  return url.split('?', 1)[0]?.slice(0, 200) ?? '/'
}
