/** `consolePage()`: an Elysia plugin that serves a page about services. */
import {
  checkNames,
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
import { type ConsoleClients, readClients } from './clients.ts'
import { pageFile } from './page-files.ts'
import { pageService } from './page-service.ts'
import type { Programs } from './programs.ts'
import { makeSources } from './sources/index.ts'
import { PROTOBUF, postedOtlp } from './traces/posted-otlp.ts'
import { Watch } from './watch.ts'

/** Options of `consolePage()`. */
export interface ConsoleOptions extends AccessOptions {
  /**
   * Clients of the services to show, by the names under which they are shown. Pass a function if services come and
   * go: it is called repeatedly while a page is open. The console does not close these clients.
   */
  readonly services: ConsoleClients | (() => ConsoleClients)
  /** The path of the page. Default: `'/console'`. */
  readonly path?: string | undefined
  /** Whether everybody who may open the page may also call every pattern. Default: `false`, the page is read-only. */
  readonly try?: boolean | undefined
  /** Milliseconds, at least 100, between two samples of the services while a page is open. Default: 1,000. */
  readonly interval?: number | undefined
  /**
   * The services are watched until this signal aborts, even while no page is open, so that alerts and the charts of
   * the last hour have no gaps. Default: services are watched only while a page is open.
   */
  readonly watchUntil?: AbortSignal | undefined
  /**
   * The programs behind the services, for a page of somebody who runs them, as `elysia-microservices dev` does: the page
   * shows their lines, and with `try` their environment, and stops and starts them. Default: none.
   */
  readonly programs?: Programs | undefined
  /**
   * The path of a file in which the last hour of all services is kept, so that their charts survive a restart of this
   * process. The file is made if it is missing, and takes at most 128 MiB. It needs the SQLite of Bun, or of Node from
   * 22.13 on. Default: the last hour is kept in memory only.
   */
  readonly history?: string | undefined
  /** Receives a line for each change that was made on the page, such as deleted dead letters. Default: the console. */
  readonly logger?: Logger | undefined
}

/** The names of all options; the compiler reports one that is missing. */
const NAMES: { readonly [Name in keyof Required<ConsoleOptions>]: true } = {
  services: true,
  path: true,
  try: true,
  interval: true,
  watchUntil: true,
  programs: true,
  history: true,
  logger: true,
  allow: true,
  hosts: true
}

/** The fields of an Elysia handler's context that are used here. */
interface Context {
  readonly request: Request
  readonly server?: {
    requestIP?(request: Request): { readonly address: string } | null
  } | null
}

/** The path of the page's WebSocket, appended to the path of the page. */
export const SOCKET = '/socket'
/** Largest number of pages that may be open at the same time. */
const MAX_PAGES = 100
/** How many bytes of updates a page may leave unread. */
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
 * Makes an Elysia plugin that serves a page about services: their patterns and schemas, and, while the page is
 * open, their activity. A service must allow descriptions with its option `describe`, and needs `telemetry()` for
 * figures. Only programs on this machine may open the page, unless the option `allow` says otherwise.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { consolePage } from '@elysia-microservices/console'
 * import { Elysia } from 'elysia'
 * import { connect } from 'elysia-microservices/client'
 *
 * new Elysia().use(consolePage({ services: { orders: connect({ port: 4000 }) } })).listen(3000)
 * ```
 */
export function consolePage(options: ConsoleOptions): Elysia {
  checkNames('options', options, Object.keys(NAMES))
  const {
    services,
    path = '/console',
    try: canTry = false,
    interval = DEFAULT_INTERVAL,
    watchUntil,
    programs,
    history,
    logger = consoleLogger
  } = Object(options) as ConsoleOptions
  const told = loggerOf(logger)
  const clients = readClients(services, told)
  if (typeof path !== 'string' || !/^\/[\w/.~-]*[\w.~-]$/.test(path))
    throw OptionError.expected('options.path', "a path such as '/console'", path)
  if (typeof canTry !== 'boolean') throw OptionError.expected('options.try', 'a boolean', canTry)
  milliseconds(100, 'options.interval', interval)
  if (watchUntil !== undefined && !(watchUntil instanceof AbortSignal))
    throw OptionError.expected('options.watchUntil', 'an AbortSignal', watchUntil)
  if (programs !== undefined && (typeof programs !== 'object' || programs === null))
    throw OptionError.expected('options.programs', 'an object with the programs', programs)
  if (history !== undefined && (typeof history !== 'string' || history === ''))
    throw OptionError.expected('options.history', 'the path of a file', history)
  const access = new Access(Object(options), told)
  const { sources, traces } = makeSources({ clients, canTry, programs, history, logger: told })
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
          : // the answer has no body
            new Response(new Uint8Array(), { headers: { ...HEADERS, 'content-type': PROTOBUF } })
      }, true) as never,
      { ...hidden, parse: 'none' }
    )
  const before = () => door.stop()
  // The door is started here for programs in which no app listens, as with `openConsole()`.
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

/**
 * The address from which a request was sent. Bun's server knows it; on Node the requests of Elysia's adapter have
 * it.
 */
function addressOf(request: Request, server: Context['server']): string | undefined {
  const { ip } = request as { readonly ip?: unknown }
  if (typeof ip === 'string') return ip
  try {
    return server?.requestIP?.(request)?.address
  } catch {
    // In Elysia's adapter for Node this method exists, but only throws.
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
  // The base is relative, because a proxy may have added a prefix to the path.
  const base = new URL(request.url).pathname.endsWith('/') ? '.' : path.slice(path.lastIndexOf('/') + 1)
  const html = (await pageFile('html')).replaceAll('BASE', base)
  return new Response(html, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
}

async function file(name: 'script' | 'style', type: string): Promise<Response> {
  return new Response(await pageFile(name), {
    headers: { ...HEADERS, 'content-type': `${type}; charset=utf-8` }
  })
}
