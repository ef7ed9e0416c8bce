/**
 * Which endpoint takes a call: the less busy of two chosen at random, or that of a key, among those to be used
 * first. Pure: clock and randomness are given.
 */
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts'
import { weightedScore } from './rendezvous.ts'

/** An endpoint as the balancer sees it. */
export interface Candidate {
  /** What tells it from others, such as `10.0.0.7:4000`. */
  readonly name: string
  /** Whether it can take a call now. */
  readonly usable: boolean
  /** Calls it has not answered yet. */
  readonly inFlight: number
  /** Those of a lower number are used as long as one of them can be. */
  readonly priority: number
  /** Share of the calls, beside those of the same priority: above 0. */
  readonly weight: number
}

/** What a balancer needs. */
export interface BalancerInit<Endpoint> {
  /** `undefined`: endpoints are never ejected. */
  readonly health: HealthOptions | undefined
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** An endpoint gets no calls for that many milliseconds. */
  ejected(endpoint: Endpoint, duration: number): void
  /** An ejected endpoint is trusted again. */
  restored(endpoint: Endpoint): void
}

/** Chooses among endpoints. */
export class Balancer<Endpoint extends Candidate> {
  readonly #init: BalancerInit<Endpoint>
  readonly #health = new Map<Endpoint, EndpointHealth>()
  /** By priority, those to be used first in front. */
  #groups: readonly (readonly Endpoint[])[] = []
  #weighted = false

  constructor(init: BalancerInit<Endpoint>) {
    this.#init = init
  }

  /** Endpoints, with their priorities and weights, from now on. Those that stay keep their health. */
  use(endpoints: readonly Endpoint[]): void {
    const priorities = [...new Set(endpoints.map(({ priority }) => priority))].sort((a, b) => a - b)
    this.#groups = priorities.map((each) => endpoints.filter(({ priority }) => priority === each))
    this.#weighted = endpoints.some(({ weight }) => weight !== 1)
    const { health } = this.#init
    for (const endpoint of this.#health.keys()) {
      if (!endpoints.includes(endpoint)) this.#health.delete(endpoint)
    }
    if (health === undefined) return
    for (const endpoint of endpoints) {
      if (!this.#health.has(endpoint)) this.#health.set(endpoint, new EndpointHealth(health))
    }
  }

  /**
   * The endpoint for a call; `undefined` if none is usable. An ejected one, or that to avoid, is taken where
   * there is no other.
   * @param key calls of one key go to one endpoint as long as it can take them
   * @param avoid where the call has failed before
   */
  pick(now: number, key?: string, avoid?: unknown): Endpoint | undefined {
    const endpoint = key === undefined ? this.#leastBusy(now, avoid) : this.#ofKey(now, key, avoid)
    if (endpoint !== undefined && this.#health.get(endpoint)?.picked(now)) this.#init.restored(endpoint)
    return endpoint
  }

  /** A call failed because of its endpoint: no connection, no answer in time, or it was refused. */
  failed(endpoint: Endpoint, now: number): void {
    const duration = this.#health.get(endpoint)?.failed(now, this.#init.random())
    if (duration !== undefined) this.#init.ejected(endpoint, duration)
  }

  #leastBusy(now: number, avoid: unknown): Endpoint | undefined {
    const endpoints = this.#candidates(now, avoid)
    const count = endpoints.length
    if (count < 2) return endpoints[0]
    if (avoid === undefined && this.#health.size > 0) {
      const probe = endpoints.find((endpoint) => this.#health.get(endpoint)?.wantsProbe(now))
      if (probe !== undefined) return probe
    }
    if (this.#weighted) return this.#leastBusyByWeight(endpoints)
    const first = Math.floor(this.#init.random() * count)
    // Another one: from those behind the first, counted round.
    const second = (first + 1 + Math.floor(this.#init.random() * (count - 1))) % count
    const [one, other] = [endpoints[first] as Endpoint, endpoints[second] as Endpoint]
    return other.inFlight < one.inFlight ? other : one
  }

  /**
   * The two are chosen by weight, and the second takes the call if it has less to do for its weight, this call
   * included. So shares are those of the weights when there is little to do, and what is in flight when there is much.
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
    // Rounding has left something.
    return endpoints.at(-1) as Endpoint
  }

  #ofKey(now: number, key: string, avoid: unknown): Endpoint | undefined {
    let best: Endpoint | undefined
    let bestScore = -1
    for (const endpoint of this.#candidates(now, avoid)) {
      const score = weightedScore(key, endpoint.name, endpoint.weight)
      if (score < bestScore || (score === bestScore && endpoint.name > best!.name)) continue
      best = endpoint
      bestScore = score
    }
    return best
  }

  /**
   * The best set that is not empty: trusted and not to avoid, else usable and not to avoid, else usable; and of
   * these, those to be used first.
   */
  #candidates(now: number, avoid: unknown): readonly Endpoint[] {
    let distrusted: readonly Endpoint[] = []
    let avoided: readonly Endpoint[] = []
    for (const group of this.#groups) {
      const usable = group.filter((endpoint) => endpoint.usable)
      const others = usable.filter((endpoint) => endpoint !== avoid)
      const trusted = others.filter((endpoint) => this.#health.get(endpoint)?.admits(now) ?? true)
      if (trusted.length > 0) return trusted
      if (distrusted.length === 0) distrusted = others
      if (avoided.length === 0) avoided = usable
    }
    return distrusted.length > 0 ? distrusted : avoided
  }
}
