/** The page about all services that `dev` runs, on a port that can be reached only from this machine. */
import type { ConsoleClient, Programs } from '@elysia-microservices/console'
import { type OpenConsole, openConsole } from '@elysia-microservices/console/standalone'
import type { Announcement } from '@elysia-microservices/transport/kit'
import { connect } from 'elysia-microservices/client'
import { addressOf } from '../address.ts'
import { askedStore } from './asked-store.ts'
import type { Ask, Told } from './door.ts'

const QUIET = { error() {}, warn() {} }
/** Transports whose services are asked at their own addresses. */
const ASKED: readonly string[] = ['tcp', 'grpc']

/** Shows services as they start and stop. */
export class Page {
  readonly #clients = new Map<string, { readonly key: string; readonly client: ConsoleClient }>()
  /** The latest process of each service that has said so, as somebody to ask about its store. */
  readonly #processes = new Map<string, (about: object) => Promise<unknown>>()
  readonly #closing = new AbortController()
  readonly #say: (text: string) => void
  readonly #programs: Programs
  readonly #history: string | undefined
  #open: OpenConsole | undefined

  /**
   * @param say prints changes that users make on the page
   * @param programs those that users can stop and start on the page
   * @param history the file that keeps the last hour; `undefined`: the runtime has no SQLite
   */
  constructor(say: (text: string) => void, programs: Programs, history?: string) {
    this.#say = say
    this.#history = history
    this.#programs = programs
  }

  /** Opens the page. @returns its address @param port the preferred port; another one is used if that is taken */
  async open(port: number): Promise<string> {
    // The services are sorted by name, not by the time at which they became ready.
    const sorted = () => [...this.#clients].sort(([one], [other]) => (one < other ? -1 : 1))
    const services = () => Object.fromEntries(sorted().map(([name, { client }]) => [name, client]))
    const logger = { error: this.#say, warn: this.#say }
    const watchUntil = this.#closing.signal
    const options = {
      try: true,
      services,
      programs: this.#programs,
      history: this.#history,
      watchUntil,
      logger
    }
    const at = (each: number) => openConsole({ ...options, port: each })
    this.#open = await at(port).catch(() => at(0))
    return this.#open.url
  }

  /**
   * Shows a service that listens.
   * @param name the name for a service without a name of its own
   * @param engines the URLs of engines by the names of their transports
   * @param ask asks the process
   * @throws {OptionError} the service cannot be reached
   */
  async add(
    name: string,
    { service, transports, store }: NonNullable<Told['announcement']>,
    engines: ReadonlyMap<string, string>,
    ask: Ask
  ): Promise<void> {
    const shown = service ?? name
    this.#processes.set(shown, (about) => ask(service, about))
    // A client through an engine is preferred, because an engine also has the events, and reaches all processes.
    const engine = transports.flatMap((transport) => engines.get(transport.name) ?? [])[0]
    const url = engine ?? transports.flatMap(urlsOf)[0]
    const known = this.#clients.get(shown)
    const key = `${url} ${store?.name ?? ''}`
    if (url === undefined || known?.key === key) return
    // The client reconnects, because services restart when they are edited.
    const where = await addressOf(url, { protocol: 'rsocket', reconnect: true })
    const client = connect({
      ...where,
      ...(store && { store: askedStore(store, (about) => this.#ask(shown, about)) }),
      timeout: 5_000,
      logger: QUIET
    })
    this.#clients.set(shown, { key, client })
    await known?.client.close()
  }

  /** Each start of a service is another process. */
  async #ask(service: string, about: object): Promise<unknown> {
    return this.#processes.get(service)?.(about)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#open?.close()
    await Promise.all([...this.#clients.values()].map(({ client }) => client.close()))
  }
}

function urlsOf({ name, address }: Announcement['transports'][number]): string[] {
  return ASKED.includes(name) && address !== undefined && address.port > 0 ? [urlOf(name, address)] : []
}

function urlOf(scheme: string, { host, port }: { readonly host: string; readonly port: number }): string {
  // The service listens on all addresses, so the loopback address can be used.
  const name = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
