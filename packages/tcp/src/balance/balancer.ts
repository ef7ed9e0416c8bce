/**
 * Decides which endpoint takes a call, among the usable ones of the best priority: the less busy of two random ones, or
 * the endpoint of a key. Pure: clock and randomness come from outside.
 */
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts'
import { rendezvousScore, weightedScore } from './rendezvous.ts'

/** A connection to an endpoint, as the balancer sees it. */
export interface Candidate {
  /** The name of the endpoint, such as `10.0.0.7:4000`. Connections with the same name share its health. */
  readonly name: string
  /** Number of the connection among those to its endpoint, from 0. */
  readonly slot: number
  /** Whether it can take a call now. */
  readonly usable: boolean
  /** Calls without an answer yet. */
  readonly inFlight: number
  /** Endpoints with a lower number are preferred while one of them is usable. */
  readonly priority: number
  /** Share of the calls among endpoints of the same priority; above 0. */
  readonly weight: number
}

/** What a balancer needs. */
export interface BalancerInit<Endpoint> {
  /** `undefined`: endpoints are never ejected. */
  readonly health: HealthOptions | undefined
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** An endpoint gets no calls for `duration` milliseconds. */
  ejected(endpoint: Endpoint, duration: number): void
  /** An ejected endpoint is trusted again. */
  restored(endpoint: Endpoint): void
}

/** An endpoint that a call should avoid. */
export type Avoided = Pick<Candidate, 'name'>

/** Whether a connection wins over another with the same score, which is nearly always of the same endpoint. */
function winsTie(key: string, { name, slot }: Candidate, other: Candidate): boolean {
  if (name !== other.name) return name < other.name
  return rendezvousScore(key, `${name} ${slot}`) > rendezvousScore(key, `${name} ${other.slot}`)
}

/** Chooses among endpoints. */
export class Balancer<Endpoint extends Candidate> {
  readonly #init: BalancerInit<Endpoint>
  readonly #health = new Map<string, EndpointHealth>()
  /** Endpoints grouped by priority, the best group first. */
  #groups: readonly (readonly Endpoint[])[] = []
  #weighted = false

  constructor(init: BalancerInit<Endpoint>) {
    this.#init = init
  }

  /** Sets the endpoints, with their priorities and weights. Endpoints that stay keep their health. */
  use(endpoints: readonly Endpoint[]): void {
    const priorities = [...new Set(endpoints.map(({ priority }) => priority))].sort((a, b) => a - b)
    this.#groups = priorities.map((each) => endpoints.filter(({ priority }) => priority === each))
    this.#weighted = endpoints.some(({ weight }) => weight !== 1)
    const { health } = this.#init
    const names = new Set(endpoints.map(({ name }) => name))
    for (const name of this.#health.keys()) if (!names.has(name)) this.#health.delete(name)
    if (health === undefined) return
    for (const name of names) if (!this.#health.has(name)) this.#health.set(name, new EndpointHealth(health))
  }

  /**
   * The endpoint for a call; `undefined` if none is usable. Takes an ejected endpoint, or the one to avoid, only if
   * there is no other.
   * @param key calls with the same key go to the same endpoint as long as it can take them
   * @param avoid the endpoint at which the call failed before
   */
  pick(now: number, key?: string, avoid?: Avoided): Endpoint | undefined {
    const endpoint = key === undefined ? this.#leastBusy(now, avoid) : this.#ofKey(now, key, avoid)
    if (endpoint !== undefined && this.#health.get(endpoint.name)?.picked(now)) this.#init.restored(endpoint)
    return endpoint
  }

  /** A call failed because of its endpoint: the connection was lost, no answer came in time, or it was refused. */
  failed(endpoint: Endpoint, now: number): void {
    const duration = this.#health.get(endpoint.name)?.failed(now, this.#init.random())
    if (duration !== undefined) this.#init.ejected(endpoint, duration)
  }

  #leastBusy(now: number, avoid: Avoided | undefined): Endpoint | undefined {
    const endpoints = this.#candidates(now, avoid)
    const count = endpoints.length
    if (count < 2) return endpoints[0]
    if (avoid === undefined && this.#health.size > 0) {
      const probe = endpoints.find(({ name }) => this.#health.get(name)?.wantsProbe(now))
      if (probe !== undefined) return probe
    }
    if (this.#weighted) return this.#leastBusyByWeight(endpoints)
    const first = Math.floor(this.#init.random() * count)
    // Any other one: some places behind the first, wrapping around.
    const second = (first + 1 + Math.floor(this.#init.random() * (count - 1))) % count
    const [one, other] = [endpoints[first] as Endpoint, endpoints[second] as Endpoint]
    return other.inFlight < one.inFlight ? other : one
  }

  /**
   * Draws two endpoints by weight. The second takes the call if it has less in flight for its weight, this call
   * included. So under little load the weights decide, and under much load the calls in flight do.
   */
  #leastBusyByWeight(endpoints: readonly Endpoint[]): Endpoint {
    const one = this.#byWeight(endpoints)
    const other = this.#byWeight(endpoints.filter((endpoint) => endpoint !== one))
    return (other.inFlight + 1) * one.weight <= one.inFlight * other.weight ? other : one
  }

  #byWeight(endpoints: readonly Endpoint[]): Endpoint {
    const total = endpoints.reduce((sum, { weight }) => sum + weight, 0)
    let left = this.#init.random() * total
    for (const endpoint of endpoints) {
      left -= endpoint.weight
      if (left < 0) return endpoint
    }
    // Only after a rounding error.
    return endpoints.at(-1) as Endpoint
  }

  /** The key chooses the endpoint and one connection to it, so that calls with the same key stay in order. */
  #ofKey(now: number, key: string, avoid: Avoided | undefined): Endpoint | undefined {
    let best: Endpoint | undefined
    let bestScore = -1
    for (const endpoint of this.#candidates(now, avoid)) {
      const score = weightedScore(key, endpoint.name, endpoint.weight)
      if (score < bestScore || (score === bestScore && !winsTie(key, endpoint, best!))) continue
      best = endpoint
      bestScore = score
    }
    return best
  }

  /**
   * The best set that is not empty: trusted and not avoided, else usable and not avoided, else usable; in each case of
   * the best priority that has any.
   */
  #candidates(now: number, avoid: Avoided | undefined): readonly Endpoint[] {
    let distrusted: readonly Endpoint[] = []
    let avoided: readonly Endpoint[] = []
    for (const group of this.#groups) {
      const usable = group.filter((endpoint) => endpoint.usable)
      const others = usable.filter(({ name }) => name !== avoid?.name)
      const trusted = others.filter(({ name }) => this.#health.get(name)?.admits(now) ?? true)
      if (trusted.length > 0) return trusted
      if (distrusted.length === 0) distrusted = others
      if (avoided.length === 0) avoided = usable
    }
    return distrusted.length > 0 ? distrusted : avoided
  }
}
