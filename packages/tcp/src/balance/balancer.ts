/**
 * Which endpoint takes a call: the less busy of two chosen at random, or that of a key, among those to be used
 * first. Pure: clock and randomness are given.
 */
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts'
import { rendezvousScore, weightedScore } from './rendezvous.ts'

/** A connection to an endpoint as the balancer sees it. */
export interface Candidate {
  /** The endpoint, such as `10.0.0.7:4000`. Connections of one name share its health. */
  readonly name: string
  /** Which of the connections to its endpoint it is, from 0. */
  readonly slot: number
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

/** An endpoint where a call is not to go. */
export type Avoided = Pick<Candidate, 'name'>

/** Whether a connection is to be preferred to another of the same score: nearly always of the same endpoint. */
function winsTie(key: string, { name, slot }: Candidate, other: Candidate): boolean {
  if (name !== other.name) return name < other.name
  return rendezvousScore(key, `${name} ${slot}`) > rendezvousScore(key, `${name} ${other.slot}`)
}

/** Chooses among endpoints. */
export class Balancer<Endpoint extends Candidate> {
  readonly #init: BalancerInit<Endpoint>
  readonly #health = new Map<string, EndpointHealth>()
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
    const names = new Set(endpoints.map(({ name }) => name))
    for (const name of this.#health.keys()) if (!names.has(name)) this.#health.delete(name)
    if (health === undefined) return
    for (const name of names) if (!this.#health.has(name)) this.#health.set(name, new EndpointHealth(health))
  }

  /**
   * The endpoint for a call; `undefined` if none is usable. An ejected one, or that to avoid, is taken where
   * there is no other.
   * @param key calls of one key go to one endpoint as long as it can take them
   * @param avoid where the call has failed before
   */
  pick(now: number, key?: string, avoid?: Avoided): Endpoint | undefined {
    const endpoint = key === undefined ? this.#leastBusy(now, avoid) : this.#ofKey(now, key, avoid)
    if (endpoint !== undefined && this.#health.get(endpoint.name)?.picked(now)) this.#init.restored(endpoint)
    return endpoint
  }

  /** A call failed because of its endpoint: no connection, no answer in time, or it was refused. */
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

  /** The key chooses an endpoint, and one of the connections to it: what is sent by one key stays in order. */
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
   * The best set that is not empty: trusted and not to avoid, else usable and not to avoid, else usable; and of
   * these, those to be used first.
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
