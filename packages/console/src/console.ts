/** `console()`: an Elysia plugin that serves one page about services. */
import {
  consoleLogger,
  type Logger,
  loggerOf,
  milliseconds,
  OptionError
} from '@elysia-microservices/transport/kit'
import { Elysia } from 'elysia'
import { type EventStream, follow, openEventStream, stopWith } from 'elysia-microservices/kit'
import { Access, type AccessOptions } from './access.ts'
import { type ConsoleClient, type GivenClients, readClients } from './clients.ts'
import { pageFile } from './page-files.ts'
import { postedJson } from './posted.ts'
import { makeSources } from './sources/index.ts'
import type { Source } from './sources/source.ts'
import { PROTOBUF, postedOtlp } from './traces/posted-otlp.ts'
import { errorOf, readTrial, run } from './trial.ts'
import { Watch } from './watch.ts'

/** Options of `console()`. */
export interface ConsoleOptions extends AccessOptions {
  /**
   * Clients of the services to be seen, by the names they are shown under, or a function that gives them, where services
   * come and go: it is asked again and again while a page is open. They stay the user's to close.
   */
  readonly services: GivenClients | (() => GivenClients)
  /** Where the page is. Default: `'/console'`. */
  readonly path?: string | undefined
  /** Whether everybody who may open the page may call every pattern. Default: `false`, it only shows. */
  readonly try?: boolean | undefined
  /** Milliseconds between two looks at the services while a page is open, from 100. Default: 1,000. */
  readonly interval?: number | undefined
  /**
   * Services are watched until this is aborted, so that the last hour and alerts have no gaps. Default: only while a page
   * is open.
   */
  readonly watchUntil?: AbortSignal | undefined
  /** Is told what was done on the page, such as dead letters that were deleted. Default: the console. */
  readonly logger?: Logger | undefined
}

/** The context of an Elysia handler, as far as it is used here. */
interface Context {
  readonly request: Request
  readonly server?: {
    requestIP?(request: Request): { readonly address: string } | null
    timeout?(request: Request, seconds: number): void
  } | null
}

/** Pages that may be open, and calls that may be under way, at a time. */
const MAX_STREAMS = 100
const DEFAULT_INTERVAL = 1_000
/** Milliseconds of silence after which a stream says that it is there. */
const HEARTBEAT = 5_000

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff'
}

/**
 * Makes an Elysia plugin that serves a page about services: their patterns and schemas, and, while the page is open,
 * what they do. Services tell of themselves where they have the option `describe`, and are counted by `telemetry()`.
 * Only programs of this machine may open it, unless `allow` says otherwise.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { console as servicesPage } from '@elysia-microservices/console'
 * import { Elysia } from 'elysia'
 * import { connect } from 'elysia-microservices/client'
 *
 * new Elysia().use(servicesPage({ services: { orders: connect({ port: 4000 }) } })).listen(3000)
 * ```
 */
export function console(options: ConsoleOptions): Elysia {
  const {
    services,
    path = '/console',
    try: canTry = false,
    interval = DEFAULT_INTERVAL,
    watchUntil,
    logger = consoleLogger
  } = Object(options) as ConsoleOptions
  const clients = readClients(services)
  if (typeof path !== 'string' || !/^\/[\w/.~-]*[\w.~-]$/.test(path))
    throw OptionError.expected('options.path', "a path such as '/console'", path)
  if (typeof canTry !== 'boolean') throw OptionError.expected('options.try', 'a boolean', canTry)
  milliseconds(100, 'options.interval', interval)
  if (watchUntil !== undefined && !(watchUntil instanceof AbortSignal))
    throw OptionError.expected('options.watchUntil', 'an AbortSignal', watchUntil)
  const access = new Access(Object(options))
  const { sources, traces } = makeSources({ clients, canTry, logger: loggerOf(logger) })
  const watch = new Watch(clients, { canTry, interval }, sources, watchUntil)
  const streams = new Set<EventStream>()
  const guarded =
    (answer: (context: Context) => Response | Promise<Response>, isForPrograms = false) =>
    async ({ request, server }: Context): Promise<Response> => {
      const refusal = await access.refusal(request, addressOf(request, server), isForPrograms)
      return refusal === undefined ? answer({ request, server: server ?? null }) : refused(403, refusal)
    }
  const stream = async (init: Omit<Parameters<typeof openEventStream>[0], 'bodyOf' | 'heartbeat'>) => {
    if (streams.size >= MAX_STREAMS)
      return refused(503, `${MAX_STREAMS} pages and calls of the console are open already`)
    const opened = await openEventStream({ ...init, heartbeat: HEARTBEAT, bodyOf: errorOf })
    streams.add(opened)
    void opened.closed.then(() => streams.delete(opened))
    for (const [name, value] of Object.entries(HEADERS)) opened.response.headers.set(name, value)
    return opened.response
  }
  const hidden = { detail: { hide: true } }

  const plugin = new Elysia()
    .get(path, guarded(({ request }) => page(request, path)) as never, hidden)
    .get(`${path}/page.js`, guarded(() => file('script', 'text/javascript')) as never, hidden)
    .get(`${path}/page.css`, guarded(() => file('style', 'text/css')) as never, hidden)
    .get(
      `${path}/updates`,
      guarded(({ request, server }) => {
        server?.timeout?.(request, 0)
        return stream({ start: (signal) => watch.open(signal), signal: request.signal })
      }) as never,
      hidden
    )
    .post(
      `${path}/try`,
      guarded(async ({ request, server }) => {
        if (!canTry) return refused(403, 'The console only shows: see options.try of console()')
        const found = await trialOf(request, clients()).catch((error: TypeError) => error.message)
        if (typeof found === 'string') return refused(400, found)
        server?.timeout?.(request, 0)
        return stream({ start: (signal) => run(...found, signal), signal: request.signal })
      }) as never,
      { ...hidden, parse: 'none' }
    )
  for (const source of sources)
    plugin.post(`${path}/ask/${source.topic}`, guarded(({ request }) => answered(source, request)) as never, {
      ...hidden,
      parse: 'none'
    })
  for (const signal of ['traces', 'logs', 'metrics'] as const)
    plugin.post(
      `${path}/v1/${signal}`,
      guarded(async ({ request }) => {
        const posted = await postedOtlp(request, signal).catch((error: TypeError) => error)
        if (posted instanceof TypeError)
          return refused(415, `${posted.message}; send OTLP over HTTP (http/protobuf or http/json)`)
        traces.receive(signal, posted.body)
        return posted.isJson
          ? Response.json({}, { headers: HEADERS })
          : // Nothing to say is no bytes.
            new Response(new Uint8Array(), { headers: { ...HEADERS, 'content-type': PROTOBUF } })
      }, true) as never,
      { ...hidden, parse: 'none' }
    )
  const before = () => {
    for (const opened of streams) opened.close()
  }
  follow(plugin, { started: (host) => stopWith(host, { before }), stopped: before }, 'The console')
  return plugin as never
}

/** What a source answers a page's question. */
async function answered(source: Source, request: Request): Promise<Response> {
  try {
    const question = await postedJson(request)
    const answer = (await source.ask?.(question, request.signal)) ?? null
    return Response.json(answer, { headers: HEADERS })
  } catch (error) {
    if (error instanceof TypeError) return refused(400, error.message)
    return refused(500, errorOf(error).message)
  }
}

async function trialOf(
  request: Request,
  clients: ReadonlyMap<string, ConsoleClient>
): Promise<[ConsoleClient, Awaited<ReturnType<typeof readTrial>>]> {
  const trial = await readTrial(request)
  const client = clients.get(trial.service)
  if (client === undefined) throw new TypeError('There is no such service')
  return [client, trial]
}

/** Where a request comes from: Bun's server knows it, and so do the requests of Elysia's adapter for Node. */
function addressOf(request: Request, server: Context['server']): string | undefined {
  const { ip } = request as { readonly ip?: unknown }
  if (typeof ip === 'string') return ip
  try {
    return server?.requestIP?.(request)?.address
  } catch {
    // Elysia's adapter for Node has a method that only throws.
    return undefined
  }
}

function refused(status: number, reason: string): Response {
  return new Response(reason, {
    status,
    headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' }
  })
}

async function page(request: Request, path: string): Promise<Response> {
  // Relative, because a proxy may have put more before the path.
  const base = new URL(request.url).pathname.endsWith('/') ? '.' : path.slice(path.lastIndexOf('/') + 1)
  const html = (await pageFile('html')).replaceAll('BASE', base)
  return new Response(html, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
}

async function file(name: 'script' | 'style', type: string): Promise<Response> {
  return new Response(await pageFile(name), {
    headers: { ...HEADERS, 'content-type': `${type}; charset=utf-8` }
  })
}
