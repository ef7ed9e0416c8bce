/** The page about all services that `dev` runs, on a port of this machine alone. */
import type { GivenClient } from '@elysia-microservices/console'
import { type OpenConsole, openConsole } from '@elysia-microservices/console/standalone'
import type { Announcement } from '@elysia-microservices/transport/kit'
import { connect } from 'elysia-microservices/client'
import { addressOf } from '../address.ts'

const QUIET = { error() {}, warn() {} }

/** Shows services as they come and go. */
export class Page {
  readonly #clients = new Map<string, { readonly url: string; readonly client: GivenClient }>()
  readonly #closing = new AbortController()
  readonly #say: (text: string) => void
  #open: OpenConsole | undefined

  /** @param say is told what was done on the page */
  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /** @returns where it is. @param port where it should be; another one if that is taken */
  async open(port: number): Promise<string> {
    // In the order of names, not of who was ready first.
    const sorted = () => [...this.#clients].sort(([one], [other]) => (one < other ? -1 : 1))
    const services = () => Object.fromEntries(sorted().map(([name, { client }]) => [name, client]))
    const logger = { error: this.#say, warn: this.#say }
    const watchUntil = this.#closing.signal
    const at = (each: number) => openConsole({ port: each, try: true, services, watchUntil, logger })
    this.#open = await at(port).catch(() => at(0))
    return this.#open.url
  }

  /**
   * Shows a service that listens.
   * @param name where it has none of its own
   * @param engines the urls of engines by the names of their transports
   * @throws {OptionError} it cannot be reached
   */
  async add(
    name: string,
    { service = name, transports }: Announcement,
    engines: ReadonlyMap<string, string>
  ): Promise<void> {
    // An engine knows of events, too, and of all processes.
    const engine = transports.flatMap((transport) => engines.get(transport.name) ?? [])[0]
    const url = engine ?? transports.flatMap(urlsOf)[0]
    const known = this.#clients.get(service)
    if (url === undefined || known?.url === url) return
    const where = await addressOf(url, { protocol: 'rsocket' })
    const client = connect({
      ...where,
      // Services come back when they are edited.
      ...('reconnect' in where && { reconnect: true }),
      timeout: 5_000,
      logger: QUIET
    })
    this.#clients.set(service, { url, client })
    await known?.client.close()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#open?.close()
    await Promise.all([...this.#clients.values()].map(({ client }) => client.close()))
  }
}

function urlsOf({ name, address }: Announcement['transports'][number]): string[] {
  return name === 'tcp' && address !== undefined && address.port > 0 ? [urlOf(address)] : []
}

function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  // It listens on all addresses: one of them is this machine's own.
  const name = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host
  return `tcp://${name.includes(':') ? `[${name}]` : name}:${port}`
}
