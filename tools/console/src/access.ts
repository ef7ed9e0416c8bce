/** Decides who may open the console: by default only programs on this machine. */
import {
  consoleLogger,
  type Logger,
  loggerOf,
  OptionError,
  quietLog
} from '@elysia-microservices/transport/kit'

/**
 * Decides whether a request may open the console.
 * @param request the request with its original headers
 * @param address the address from which the request was sent; `undefined` if the server does not know it
 */
export type Allow = (request: Request, address: string | undefined) => boolean | Promise<boolean>

/** Options for access to the console. */
export interface AccessOptions {
  /**
   * Decides who may open the console. Default: everybody who connects from this machine (127.0.0.0/8, ::1), unless
   * the request has headers of a proxy. A function replaces this rule.
   */
  readonly allow?: Allow | undefined
  /**
   * The host names under which the console can be reached, without ports, in addition to `localhost`,
   * `*.localhost`, 127.0.0.0/8 and ::1. Requests for other names are refused: otherwise a foreign page could get
   * access with a name that resolves to this machine (DNS rebinding). Default: none.
   */
  readonly hosts?: readonly string[] | undefined
}

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const
const LOOPBACK = /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^::1$/i

/** Decides about requests. */
export class Access {
  readonly #allow: Allow | undefined
  readonly #hosts: ReadonlySet<string>
  readonly #log: ReturnType<typeof quietLog>

  /** @throws {OptionError} an option is invalid */
  constructor({ allow, hosts = [] }: AccessOptions, logger: Logger = loggerOf(consoleLogger)) {
    if (allow !== undefined && typeof allow !== 'function')
      throw OptionError.expected('options.allow', 'a function', allow)
    if (!Array.isArray(hosts) || hosts.some((host) => hostnameOf(host) !== String(host).toLowerCase()))
      throw OptionError.expected('options.hosts', "a list of names without ports, such as 'ops.test'", hosts)
    this.#allow = allow
    this.#log = quietLog(logger)
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /**
   * Returns the reason why a request is refused, as a text for its sender; `undefined` if the request is allowed.
   * Never rejects.
   * @param isForPrograms the path is for programs and not for pages, so a request without an origin does not come
   * from a browser
   */
  async refusal(
    request: Request,
    address: string | undefined,
    isForPrograms = false
  ): Promise<string | undefined> {
    const host = request.headers.get('host') ?? ''
    if (!this.#isOurs(hostnameOf(host)))
      return `The console is not called ${JSON.stringify(host.slice(0, 200))}: see options.hosts of consolePage()`
    const isAllowed =
      this.#allow === undefined
        ? isFromHere(request, address)
        : await this.#asked(this.#allow, request, address)
    if (!isAllowed)
      return this.#allow === undefined
        ? 'Only programs on its own machine may open the console: see options.allow of consolePage()'
        : 'You may not open the console'
    if (isForPrograms && request.headers.get('origin') === null && isOfNoBrowser(request)) return undefined
    return isFromOtherPage(request, host) ? 'The console does not answer requests of other pages' : undefined
  }

  /** Nobody may open the console when the user's function fails. */
  async #asked(allow: Allow, request: Request, address: string | undefined): Promise<boolean> {
    try {
      return (await allow(request, address)) === true
    } catch (error) {
      this.#log.error('allow', 'The function options.allow of the console has failed', error)
      return false
    }
  }

  #isOurs(name: string | undefined): boolean {
    if (name === undefined) return false
    return isLocalName(name) || this.#hosts.has(name)
  }
}

function isFromHere({ headers }: Request, address: string | undefined): boolean {
  return address !== undefined && LOOPBACK.test(address) && !PROXY_HEADERS.some((name) => headers.has(name))
}

/** The host name in a `Host` header; `undefined` if the header is invalid. */
function hostnameOf(host: unknown): string | undefined {
  if (typeof host !== 'string' || host === '' || /[/?#@\\\s]/.test(host)) return undefined
  try {
    return new URL(`http://${host}`).hostname
  } catch {
    return undefined
  }
}

function isLocalName(name: string): boolean {
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(name)
  )
}

/**
 * Whether the request comes from a page other than the console's. Browsers name the origin in all requests that can
 * change something, and modern browsers in all other requests too. Following a link to the console is allowed,
 * because the page with the link cannot read the result.
 */
function isFromOtherPage({ method, headers }: Request, host: string): boolean {
  const origin = headers.get('origin')
  // WebSocket upgrades are checked as well, because messages may change something.
  const isWebSocket = headers.get('upgrade')?.toLowerCase() === 'websocket'
  if (origin !== null || method !== 'GET' || isWebSocket) return origin === null || !isOriginOf(origin, host)
  const site = headers.get('sec-fetch-site')
  return (
    site !== null && site !== 'same-origin' && site !== 'none' && headers.get('sec-fetch-mode') !== 'navigate'
  )
}

/**
 * Whether the request comes from a program. Browsers send `sec-fetch-site` with each request; programs do not, and
 * Node's `fetch` sends only `sec-fetch-mode`.
 */
function isOfNoBrowser({ headers }: Request): boolean {
  return headers.get('sec-fetch-site') === null
}

function isOriginOf(origin: string, host: string): boolean {
  try {
    const { protocol, host: own } = new URL(origin)
    return own === new URL(`${protocol}//${host}`).host && /^https?:$/.test(protocol)
  } catch {
    return false
  }
}
