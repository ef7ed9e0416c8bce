/** The current endpoints, and removed endpoints whose calls are still in flight. */
import { type Address, addressName } from '../balance/address.ts'
import type { Endpoint } from './endpoint.ts'

/** Keeps the configured number of connections to each address. */
export class EndpointSet {
  readonly #connections: number
  readonly #make: (name: string, address: Address, slot: number) => Endpoint
  readonly #former = new Set<Endpoint>()
  #current: readonly Endpoint[] = []
  #startedBefore = 0

  /** @param connections number of connections per address */
  constructor(connections: number, make: (name: string, address: Address, slot: number) => Endpoint) {
    this.#connections = connections
    this.#make = make
  }

  /** The current endpoints, one for each connection. */
  get current(): readonly Endpoint[] {
    return this.#current
  }

  /** The names of the current endpoints, each once. */
  get names(): readonly string[] {
    return [...new Set(this.#current.map(({ name }) => name))]
  }

  get usable(): boolean {
    return this.#current.some(({ usable }) => usable)
  }

  /** Whether a connection to an endpoint is being made. */
  get connecting(): boolean {
    return this.#current.some(({ connecting }) => connecting)
  }

  /**
   * Whether an endpoint of better priority than all usable ones still waits for the end of its first attempt to
   * connect.
   */
  get awaitsBetter(): boolean {
    const best = Math.min(...this.#current.filter(({ usable }) => usable).map(({ priority }) => priority))
    return this.#current.some(({ untried, priority }) => untried && priority < best)
  }

  /** Number of calls in flight, also those of removed endpoints. */
  get inFlight(): number {
    return [...this.#current, ...this.#former].reduce((sum, { allInFlight }) => sum + allInFlight, 0)
  }

  /** Number of calls made so far, over all current and former endpoints. */
  get started(): number {
    return this.#current.reduce((sum, { started }) => sum + started, this.#startedBefore)
  }

  /**
   * Sets the addresses; unchanged addresses keep their connections. Returns the new endpoints; `undefined` if nothing
   * has changed.
   */
  use(addresses: readonly Address[]): readonly Endpoint[] | undefined {
    const known = new Set(this.names)
    const next = addresses.flatMap((address) => {
      const name = addressName(address)
      const endpoints = known.has(name)
        ? this.#current.filter((endpoint) => endpoint.name === name)
        : Array.from({ length: this.#connections }, (_, slot) => this.#make(name, address, slot))
      for (const endpoint of endpoints) endpoint.rank(address)
      return endpoints
    })
    const added = next.filter(({ name }) => !known.has(name))
    const gone = this.#current.filter((endpoint) => !next.includes(endpoint))
    this.#current = next
    for (const endpoint of gone) void this.#leave(endpoint)
    return added.length + gone.length === 0 ? undefined : added
  }

  /** Ends all connections. Resolves when all of them are closed. */
  async end(): Promise<void> {
    await Promise.all([...this.#current, ...this.#former].map((endpoint) => endpoint.end()))
  }

  async #leave(endpoint: Endpoint): Promise<void> {
    this.#former.add(endpoint)
    await endpoint.leave()
    this.#startedBefore += endpoint.started
    this.#former.delete(endpoint)
  }
}
