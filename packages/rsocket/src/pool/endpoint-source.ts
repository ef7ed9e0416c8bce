/** Finds a client's endpoints: in a fixed list, or by repeated lookups of names and calls of functions. */

import { ConnectionError, OptionError } from '@elysia-microservices/transport/kit'
import { type Address, addressName, parseAddress } from '../balance/address.ts'
import { type SrvRecord, srvAddresses } from '../balance/srv.ts'
import { unref } from '../host.ts'
import type { CheckedResilience } from '../options/resilience-options.ts'

/** The DNS functions that the lookup needs. */
export interface Resolver {
  /** Returns all addresses of a host. */
  lookup(host: string): Promise<readonly string[]>
  /** Returns the SRV records of a name. */
  srv(name: string): Promise<readonly SrvRecord[]>
}

const DNS = 'dns:'
const SRV = 'srv:'
/** Least milliseconds between two lookups after failures. */
const MIN_INTERVAL = 1_000

/** Looks up endpoints repeatedly. */
export class EndpointSource {
  /** Endpoints that never change; `undefined` if endpoints have to be looked up. */
  readonly fixed: readonly Address[] | undefined
  readonly #options: Pick<CheckedResilience, 'endpoints' | 'resolveInterval'>
  readonly #port: number
  readonly #resolver: Resolver
  readonly #found: (addresses: readonly Address[]) => void
  readonly #failed: (error: Error) => void
  #first: Promise<void> | undefined
  #asking = false
  #askedAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  /**
   * @param own the endpoint to use if `options.url` is not set
   * @param found is called after each lookup
   * @param failed is called when a later lookup fails; if the first lookup fails, `start` rejects
   * @throws {OptionError} an endpoint is not `host:port`
   */
  constructor(
    options: Pick<CheckedResilience, 'endpoints' | 'resolveInterval'>,
    own: Address,
    found: (addresses: readonly Address[]) => void,
    failed: (error: Error) => void,
    resolver: Resolver
  ) {
    this.#options = options
    this.#port = own.port
    this.#found = found
    this.#failed = failed
    this.#resolver = resolver
    const { endpoints } = options
    if (typeof endpoints === 'function') return
    if (endpoints === undefined) {
      this.fixed = [own]
      return
    }
    // The form of all endpoints is checked now, even if the endpoints are looked up later.
    if (endpoints.includes(SRV))
      throw OptionError.expected('options.url', "a list in which the name of a service follows 'srv:'", SRV)
    const all = endpoints
      .filter((text) => !isSrv(text))
      .map((text) => parseAddress(withoutDns(text), own.port))
    if (!endpoints.some((text) => isDns(text) || isSrv(text))) this.fixed = distinct(all)
  }

  /**
   * Looks up the endpoints for the first time. Rejects with a `ConnectionError` if that fails; `start` may then be
   * called again.
   */
  start(): Promise<void> {
    this.#first ??= this.#ask().catch((cause: Error) => {
      this.#first = undefined
      throw new ConnectionError(
        `The addresses in options.url cannot be looked up: ${cause.message}`,
        false,
        cause
      )
    })
    return this.#first
  }

  /** Looks up the endpoints again after a failure, because they may have changed. */
  refresh(): void {
    if (this.#first === undefined || performance.now() - this.#askedAt < MIN_INTERVAL) return
    this.#askAgain()
  }

  /** Stops all lookups. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #askAgain(): void {
    if (this.#asking || this.#stopped) return
    this.#ask().catch((error: Error) => {
      if (this.#stopped) return
      this.#failed(error)
      this.#wait()
    })
  }

  async #ask(): Promise<void> {
    this.#asking = true
    this.#askedAt = performance.now()
    try {
      const addresses = distinct(await this.#resolve())
      if (this.#stopped) return
      this.#found(addresses)
    } finally {
      this.#asking = false
    }
    this.#wait()
  }

  #wait(): void {
    clearTimeout(this.#timer)
    this.#timer = unref(setTimeout(() => this.#askAgain(), this.#options.resolveInterval))
  }

  async #resolve(): Promise<readonly Address[]> {
    const { endpoints } = this.#options
    const list = typeof endpoints === 'function' ? await endpoints() : endpoints
    if (!Array.isArray(list)) throw OptionError.expected('options.url()', 'a list of addresses', list)
    return (await Promise.all(list.map((text: string) => this.#addressesOf(text)))).flat()
  }

  async #addressesOf(text: string): Promise<readonly Address[]> {
    if (isSrv(text)) return srvAddresses(await this.#resolver.srv(text.slice(SRV.length)))
    const { host, port } = parseAddress(withoutDns(text), this.#port)
    if (!isDns(text)) return [{ host, port }]
    return (await this.#resolver.lookup(host)).map((address) => ({ host: address, port }))
  }
}

function isDns(text: string): boolean {
  return typeof text === 'string' && text.startsWith(DNS)
}

function isSrv(text: string): boolean {
  return typeof text === 'string' && text.startsWith(SRV)
}

function withoutDns(text: string): string {
  return isDns(text) ? text.slice(DNS.length) : text
}

/** Removes repeated endpoints. */
function distinct(addresses: readonly Address[]): readonly Address[] {
  const known = new Map<string, Address>()
  for (const address of addresses) {
    const name = addressName(address)
    if (!known.has(name)) known.set(name, address)
  }
  return [...known.values()]
}
