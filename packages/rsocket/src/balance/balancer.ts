/**
 * Decides which endpoint takes a call, among the usable endpoints of the best priority: the less busy one of two random
 * endpoints, or the endpoint of a key. Pure: the caller passes the time and the random numbers.
 */
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts'
import { rendezvousScore, weightedScore } from './rendezvous.ts'

/** A connection to an endpoint, as the balancer uses it. */
export interface Candidate {
  /** The name of the endpoint, such as `10.0.0.7:4000`. Connections with the same name share its health. */
  readonly name: string
  /** Number of the connection among those to its endpoint, from 0. */
  readonly slot: number
  /** Whether the connection can take a call now. */
  readonly usable: boolean
  /** Number of calls without an answer yet. */
  readonly inFlight: number
  /** Endpoints with a lower number are preferred as long as one of them is usable. */
  readonly priority: number
  /** Share of the calls among endpoints of the same priority; above 0. */
  readonly weight: number
}

/** The parameters of a balancer. */
export interface BalancerInit<Endpoint> {
  /** When an endpoint is ejected; `undefined`: never. */
  readonly health: HealthOptions | undefined
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** Called when an endpoint is ejected: it gets no calls for `duration` milliseconds. */
  ejected(endpoint: Endpoint, duration: number): void
  /** Called when an ejected endpoint is trusted again. */
  restored(endpoint: Endpoint): void
}

/** An endpoint that a call should avoid. */
export type Avoided = Pick<Candidate, 'name'>

/** Whether a connection wins over another with the same score. Equal scores nearly always mean the same endpoint. */
function winsTie(key: string, { name, slot }: Candidate, other: Candidate): boolean {
  if (name !== other.name) return name < other.name
  return rendezvousScore(key, `${name} ${slot}`) > rendezvousScore(key, `${name} ${other.slot}`)
}

const lessBusy = <Endpoint extends Candidate>(one: Endpoint, other: Endpoint): Endpoint =>
  other.inFlight < one.inFlight ? other : one

/** Number of random draws before all endpoints are searched. */
const DRAWS = 8

/** Chooses among endpoints. */
export class Balancer<Endpoint extends Candidate> {
  readonly #init: BalancerInit<Endpoint>
  readonly #health = new Map<string, EndpointHealth>()
  /**
   * Names of the endpoints that are ejected, or that get single calls as probes, each with the number of calls that were
   * in flight before its last probe: streams may last longer than any probe.
   */
  readonly #suspects = new Map<string, number>()
  /** Endpoints grouped by priority, the best group first. */
  #groups: readonly (readonly Endpoint[])[] = []
  /** All connections to an endpoint, by its name. */
  #named = new Map<string, Endpoint[]>()
  #weighted = false

  constructor(init: BalancerInit<Endpoint>) {
    this.#init = init
  }

  /** Sets the endpoints, with their priorities and weights. Endpoints that stay keep their health. */
  use(endpoints: readonly Endpoint[]): void {
    const priorities = [...new Set(endpoints.map(({ priority }) => priority))].sort((a, b) => a - b)
    this.#groups = priorities.map((each) => endpoints.filter(({ priority }) => priority === each))
    this.#named = new Map()
    for (const endpoint of endpoints) {
      const others = this.#named.get(endpoint.name)
      if (others === undefined) this.#named.set(endpoint.name, [endpoint])
      else others.push(endpoint)
    }
    this.#weighted = endpoints.some(({ weight }) => weight !== 1)
    const { health } = this.#init
    for (const name of this.#health.keys()) {
      if (this.#named.has(name)) continue
      this.#health.delete(name)
      this.#suspects.delete(name)
    }
    if (health === undefined) return
    for (const name of this.#named.keys())
      if (!this.#health.has(name)) this.#health.set(name, new EndpointHealth(health))
  }

  /**
   * Returns the endpoint for a call; `undefined` if no endpoint is usable. An ejected endpoint, or the endpoint to
   * avoid, is taken only if there is no other.
   * @param key calls with the same key go to the same endpoint as long as that endpoint can take them
   * @param avoid the endpoint at which the call failed before
   */
  pick(now: number, key?: string, avoid?: Avoided): Endpoint | undefined {
    const endpoint = key === undefined ? this.#leastBusy(now, avoid) : this.#ofKey(now, key, avoid)
    if (endpoint === undefined) return undefined
    const { name } = endpoint
    if (this.#suspects.has(name)) this.#suspects.set(name, this.#inFlight(name))
    if (this.#health.get(name)?.picked(now)) {
      this.#suspects.delete(name)
      this.#init.restored(endpoint)
    }
    return endpoint
  }

  /**
   * A call failed because of its endpoint: the connection was lost, no answer came in time, or the endpoint refused the
   * call.
   */
  failed(endpoint: Endpoint, now: number): void {
    const health = this.#health.get(endpoint.name)
    const duration = health?.failed(now, this.#init.random(), this.#inFlight(endpoint.name))
    if (duration === undefined) return
    this.#suspects.set(endpoint.name, 0)
    this.#init.ejected(endpoint, duration)
  }

  #leastBusy(now: number, avoid: Avoided | undefined): Endpoint | undefined {
    return (this.#weighted ? undefined : this.#drawn(now, avoid)) ?? this.#leastBusyOfAll(now, avoid)
  }

  /**
   * Draws two endpoints of the best priority at random and returns the less busy one, so that a call costs the same
   * with ten endpoints and with a thousand. Returns `undefined` if only few of these endpoints are usable and trusted,
   * or if one of them is due for a probe.
   */
  #drawn(now: number, avoid: Avoided | undefined): Endpoint | undefined {
    if (this.#hasProbe(now)) return undefined
    const [group = []] = this.#groups
    const count = group.length
    if (count < 2) return undefined
    let one: Endpoint | undefined
    for (let draw = 0; draw < DRAWS; draw++) {
      const other = group[Math.floor(this.#init.random() * count)] as Endpoint
      if (other === one || !other.usable || other.name === avoid?.name || !this.#isTrusted(other, now))
        continue
      if (one !== undefined) return lessBusy(one, other)
      one = other
    }
    return undefined
  }

  /** Whether an endpoint of the best priority is due for a probe, and can take a call. */
  #hasProbe(now: number): boolean {
    const best = this.#groups[0]?.[0]?.priority
    for (const name of this.#suspects.keys()) {
      const canTake = ({ usable, priority }: Endpoint) => usable && priority === best
      if (this.#wantsProbe(name, now) && this.#named.get(name)?.some(canTake)) return true
    }
    return false
  }

  #wantsProbe(name: string, now: number): boolean {
    return this.#suspects.has(name) && this.#health.get(name)?.wantsProbe(now, this.#isIdle(name)) === true
  }

  #isTrusted({ name }: Endpoint, now: number): boolean {
    return !this.#suspects.has(name) || this.#health.get(name)?.admits(now, this.#isIdle(name)) !== false
  }

  /** Number of calls without an answer yet, on all connections to an endpoint. */
  #inFlight(name: string): number {
    return this.#named.get(name)?.reduce((sum, { inFlight }) => sum + inFlight, 0) ?? 0
  }

  /** Whether the last probe of an endpoint has ended. */
  #isIdle(name: string): boolean {
    return this.#inFlight(name) <= (this.#suspects.get(name) ?? 0)
  }

  #leastBusyOfAll(now: number, avoid: Avoided | undefined): Endpoint | undefined {
    const endpoints = this.#candidates(now, avoid)
    const count = endpoints.length
    if (count < 2) return endpoints[0]
    if (avoid === undefined && this.#suspects.size > 0) {
      const probe = endpoints.find(({ name }) => this.#wantsProbe(name, now))
      if (probe !== undefined) return probe
    }
    if (this.#weighted) return this.#leastBusyByWeight(endpoints)
    const first = Math.floor(this.#init.random() * count)
    // Any endpoint except the first: some places behind the first, wrapping around.
    const second = (first + 1 + Math.floor(this.#init.random() * (count - 1))) % count
    return lessBusy(endpoints[first] as Endpoint, endpoints[second] as Endpoint)
  }

  /**
   * Draws two endpoints by weight. The second takes the call if, including this call, it has fewer calls in flight
   * relative to its weight. So the weights decide under little load, and the calls in flight under much load.
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
    // This line is reached only after a rounding error.
    return endpoints.at(-1) as Endpoint
  }

  /** Chooses the endpoint and one connection to it by the key, so that calls with the same key stay in order. */
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
   * Returns the first of these sets that is not empty: endpoints that are trusted and not avoided, endpoints that are
   * usable and not avoided, usable endpoints. Each set has only endpoints of the best priority that has such endpoints.
   */
  #candidates(now: number, avoid: Avoided | undefined): readonly Endpoint[] {
    let distrusted: readonly Endpoint[] = []
    let avoided: readonly Endpoint[] = []
    for (const group of this.#groups) {
      const usable = group.filter((endpoint) => endpoint.usable)
      const others = usable.filter(({ name }) => name !== avoid?.name)
      const trusted = others.filter((endpoint) => this.#isTrusted(endpoint, now))
      if (trusted.length > 0) return trusted
      if (distrusted.length === 0) distrusted = others
      if (avoided.length === 0) avoided = usable
    }
    return distrusted.length > 0 ? distrusted : avoided
  }
}
