/** Decides who may open the console: programs of this machine, unless the user says otherwise. */
import { OptionError } from '@elysia-microservices/transport/kit'

/**
 * Says who may open the console.
 * @param request as it came, with its headers
 * @param address the address that it came from; `undefined` where the server does not know it
 */
export type Allow = (request: Request, address: string | undefined) => boolean | Promise<boolean>

/** Options of who may. */
export interface AccessOptions {
  /**
   * Decides who may open the console. Default: everybody who connects from this machine (127.0.0.0/8, ::1) and not
   * through a proxy that says so. A function takes the place of that.
   */
  readonly allow?: Allow | undefined
  /**
   * Names that the console is reached by, besides `localhost`, `*.localhost`, 127.0.0.0/8 and ::1, without ports. Requests
   * for other names are refused, because a stranger's page could otherwise get in by a name that resolves to this
   * machine (DNS rebinding). Default: none.
   */
  readonly hosts?: readonly string[] | undefined
}

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const
const LOOPBACK = /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^::1$/i

/** Decides about requests. */
export class Access {
  readonly #allow: Allow | undefined
  readonly #hosts: ReadonlySet<string>

  /** @throws {OptionError} an option is invalid */
  constructor({ allow, hosts = [] }: AccessOptions) {
    if (allow !== undefined && typeof allow !== 'function')
      throw OptionError.expected('options.allow', 'a function', allow)
    if (!Array.isArray(hosts) || hosts.some((host) => hostnameOf(host) !== String(host).toLowerCase()))
      throw OptionError.expected('options.hosts', "a list of names without ports, such as 'ops.test'", hosts)
    this.#allow = allow
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /**
   * Why a request is refused, in words for its sender; `undefined` if it is not.
   * @param isForPrograms it is no page's: whatever does not name an origin is no browser's
   */
  async refusal(
    request: Request,
    address: string | undefined,
    isForPrograms = false
  ): Promise<string | undefined> {
    const host = request.headers.get('host') ?? ''
    if (!this.#isOurs(hostnameOf(host)))
      return `The console is not called ${JSON.stringify(host.slice(0, 200))}: see options.hosts of console()`
    const isAllowed =
      this.#allow === undefined
        ? isFromHere(request, address)
        : (await this.#allow(request, address)) === true
    if (!isAllowed)
      return this.#allow === undefined
        ? 'The console is for programs of its own machine: see options.allow of console()'
        : 'You may not open the console'
    if (isForPrograms && request.headers.get('origin') === null && isOfNoBrowser(request)) return undefined
    return isFromOtherPage(request, host) ? 'The console answers no other page' : undefined
  }

  #isOurs(name: string | undefined): boolean {
    if (name === undefined) return false
    return isLocalName(name) || this.#hosts.has(name)
  }
}

function isFromHere({ headers }: Request, address: string | undefined): boolean {
  return address !== undefined && LOOPBACK.test(address) && !PROXY_HEADERS.some((name) => headers.has(name))
}

/** The name in a `Host` header; `undefined` if it is none. */
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
 * Whether a page that is not the console's asks. Browsers say so, in every request that changes something and, if they
 * are not old, in all others; following a link to the console is nothing that a page could use.
 */
function isFromOtherPage({ method, headers }: Request, host: string): boolean {
  const origin = headers.get('origin')
  // A WebSocket's messages may change something, too.
  if (origin !== null || method !== 'GET' || headers.has('upgrade'))
    return origin === null || !isOriginOf(origin, host)
  const site = headers.get('sec-fetch-site')
  return (
    site !== null && site !== 'same-origin' && site !== 'none' && headers.get('sec-fetch-mode') !== 'navigate'
  )
}

/** Browsers say of each request from which site it came, and programs do not: the `fetch` of Node says its mode only. */
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
