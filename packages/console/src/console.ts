/** `console()`: an Elysia plugin that serves one page about services. */
import {
  consoleLogger,
  type Logger,
  loggerOf,
  milliseconds,
  OptionError
} from '@elysia-microservices/transport/kit'
import { pageDoor } from '@elysia-microservices/websocket/kit'
import { Elysia } from 'elysia'
import { follow, stopWith } from 'elysia-microservices/kit'
import { Access, type AccessOptions } from './access.ts'
import { type GivenClients, readClients } from './clients.ts'
import { pageFile } from './page-files.ts'
import { pageService } from './page-service.ts'
import { makeSources } from './sources/index.ts'
import { PROTOBUF, postedOtlp } from './traces/posted-otlp.ts'
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
  /** Whether everybody who may open the page may call every pattern. Default: `false`, the page is read-only. */
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
  } | null
}

/** Where the page's WebSocket is, behind the path of the page. */
export const SOCKET = '/socket'
/** Pages that may be open at a time. */
const MAX_PAGES = 100
/** Bytes of all services together that a page may have left unread. */
const MAX_UNREAD = 64 * 1024 * 1024
const DEFAULT_INTERVAL = 1_000

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
 * what they do. Services show themselves if they have the option `describe`, and their figures with `telemetry()`.
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
  const told = loggerOf(logger)
  const { sources, traces } = makeSources({ clients, canTry, logger: told })
  const watch = new Watch(clients, { canTry, interval }, sources, watchUntil)
  const door = pageDoor({
    path: path + SOCKET,
    dispatcher: pageService({ watch, sources, clients, canTry }),
    admits: ({ url, headers, address }) => access.refusal(new Request(url, { headers }), address),
    limits: { connections: MAX_PAGES, sendBuffer: MAX_UNREAD },
    logger: told
  })
  const guarded =
    (answer: (context: Context) => Response | Promise<Response>, isForPrograms = false) =>
    async ({ request, server }: Context): Promise<Response> => {
      const refusal = await access.refusal(request, addressOf(request, server), isForPrograms)
      return refusal === undefined ? answer({ request, server: server ?? null }) : refused(403, refusal)
    }
  const hidden = { detail: { hide: true } }

  const plugin = new Elysia()
    .get(path, guarded(({ request }) => page(request, path)) as never, hidden)
    .get(`${path}/page.js`, guarded(() => file('script', 'text/javascript')) as never, hidden)
    .get(`${path}/page.css`, guarded(() => file('style', 'text/css')) as never, hidden)
    .use(door.plugin)
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
  const before = () => door.stop()
  // Also where no app listens, as in `openConsole()`.
  void door.start()
  follow(
    plugin,
    {
      started(host) {
        void door.start()
        stopWith(host, { before })
      },
      stopped: before
    },
    'The console'
  )
  return plugin as never
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
