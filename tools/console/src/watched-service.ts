/** One service that is asked repeatedly, with all its processes that answer. */
import { insideOf } from '@elysia-microservices/transport/kit'
import { DESCRIBE_ROUTE, describeRoute } from 'elysia-microservices/kit'
import { shortText } from './bounds.ts'
import type { CheckedClient } from './clients.ts'
import { type ReadDescription, readDescription } from './description.ts'
import type { ServiceSample, ServiceView } from './protocol.ts'
import { type ToldSample, WatchedInstance } from './watched-instance.ts'

/** Milliseconds that a service may take to describe itself. */
const PATIENCE = 5_000
/** Largest number of instances of a service. An untrusted service may name a new instance in each answer. */
const MAX_INSTANCES = 50
/** Largest number of instances of all services together. With very many services each may have fewer. */
const MAX_ALL_INSTANCES = 3_000
/** Largest number of characters of the reason why a service does not describe itself. */
const MAX_PROBLEM = 300
/**
 * A service is asked again after this multiple of the time that reading its last answer took. So reading takes at
 * most a tenth of a processor for each service, and a service with a large description delays only itself.
 */
const REST = 10
/** Largest number of requests in one round that look for unknown instances. */
const MAX_SEARCHES = 10
/** The number of rounds without an answer after which an instance counts as gone. */
const MAX_MISSED = 3

/** The number of services and instances that are watched together. */
export interface Crowd {
  readonly services: number
  /** The number of instances of all services. */
  readonly instances: number
}

/** Asks one service. */
export class WatchedService {
  readonly id: string
  readonly client: CheckedClient
  /** The pattern of the request that any instance of the service answers. */
  readonly #anybody: string
  #problem: string | undefined = 'The service has not answered yet'
  /** The instances by their ids. A service whose answers have no id has one instance, `''`. */
  readonly #instances = new Map<string, WatchedInstance>()
  #isAsking = false
  /** Milliseconds that reading has taken in this round, and the earliest time of the next round. */
  #spent = 0
  #notBefore = 0
  #crowd: Crowd = { services: 1, instances: 1 }
  /** Whether the service has not answered the last request, or cannot be reached. */
  #isSilent = false
  #isCutOff = false

  constructor(id: string, client: CheckedClient) {
    this.id = id
    this.client = client
    this.#anybody = insideOf(client)?.traits.shares === 'engine' ? describeRoute(id) : DESCRIBE_ROUTE
  }

  /** The number of known instances, at least one. */
  get size(): number {
    return Math.max(1, this.#instances.size)
  }

  /** Whether the service has not answered the last request. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** The approximate number of characters of the descriptions of all instances. */
  get characters(): number {
    return [...this.#instances.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** The views of all instances; one view without a description if no instance has answered. */
  get views(): readonly ServiceView[] {
    const [service, problem] = [this.id, this.#problem]
    if (this.#instances.size === 0)
      return [
        {
          id: service,
          service,
          ...(problem !== undefined && { problem }),
          ...(this.#isSilent && { isSilent: true as const }),
          ...(this.#isCutOff && { isCutOff: true as const })
        }
      ]
    return [...this.#instances].map(([instance, { id, described, missed }]) => {
      const own = problem ?? (missed > 0 ? 'This instance has not answered' : undefined)
      return {
        id,
        service,
        described,
        ...(instance !== '' && { instance }),
        ...(own !== undefined && { problem: own }),
        ...((this.#isSilent || missed > 0) && { isSilent: true as const }),
        ...(this.#isCutOff && { isCutOff: true as const })
      }
    })
  }

  /** The figures of each instance between its last two answers. Each sample is returned once. */
  takeSamples(at: number): (readonly [id: string, sample: ServiceSample])[] {
    return [...this.#instances.values()].flatMap((instance) => {
      const sample = instance.takeSample(at)
      return sample === undefined ? [] : [[instance.id, sample] as const]
    })
  }

  /** The last sample of each instance, and the time at which it was taken. */
  get told(): (readonly [id: string, told: ToldSample])[] {
    return [...this.#instances.values()].flatMap(({ id, told }) => (told === undefined ? [] : [[id, told]]))
  }

  /** Forgets earlier figures, because no page is open any more. */
  rest(): void {
    for (const instance of this.#instances.values()) instance.rest()
  }

  /**
   * Asks the service, unless it has not answered the previous request yet. Never rejects.
   * @returns whether anything other than figures has changed
   */
  async ask(signal: AbortSignal, crowd: Crowd): Promise<boolean> {
    if (this.#isAsking || performance.now() < this.#notBefore) return false
    this.#isAsking = true
    this.#crowd = crowd
    this.#spent = 0
    try {
      return await this.#round(signal)
    } catch (error) {
      if (signal.aborted) return false
      this.rest()
      const { problem, isSilent } = problemOf(error, this.#instances.size > 0)
      const isNew = problem !== this.#problem || isSilent !== this.#isSilent
      this.#isSilent = isSilent
      this.#isCutOff = this.#isOverEngine && (error as { code?: unknown }).code === 'CONNECTION'
      this.#problem = problem
      return isNew
    } finally {
      this.#isAsking = false
      this.#notBefore = performance.now() + REST * this.#spent * crowd.services
    }
  }

  get #isOverEngine(): boolean {
    return insideOf(this.client)?.traits.shares === 'engine'
  }

  /**
   * A load balancer or a broker chooses which instance answers. So the service is asked until a known instance
   * answers. Then the other known instances are asked by their ids.
   */
  async #round(signal: AbortSignal): Promise<boolean> {
    const heard = new Set<string>()
    let hasChanged = this.#problem !== undefined
    const added: ReadDescription[] = []
    const take = (read: ReadDescription) => {
      const isNew = !heard.has(read.instance) && !this.#instances.has(read.instance)
      heard.add(read.instance)
      const known = this.#instances.get(read.instance)
      hasChanged = this.#timed(() => known?.take(read, this.#crowd.instances)) === true || hasChanged
      if (isNew) added.push(read)
      return isNew
    }
    const isSure = this.#isOverEngine
    for (let n = 0; n < MAX_SEARCHES; n++) {
      const first = await this.#ask(this.#anybody, signal)
      // Instances that were known before the service was unreachable may be gone, too.
      if (this.#problem !== undefined) this.#forgetOthers(first.instance)
      this.#problem = undefined
      this.#isSilent = false
      this.#isCutOff = false
      const isNew = take(first)
      // If instances answer in turns, a fixed number of requests in each round could reach the same instances each
      // time. So the number is random.
      if (!isNew && (this.#instances.size < 2 || Math.random() < 0.5)) break
      hasChanged ||= isNew
      if (first.instance === '') break
    }
    const missing = [...this.#instances.keys()].filter((instance) => !heard.has(instance))
    await Promise.all(
      missing.map(async (instance) => {
        const name = isSure ? this.id : this.#instances.get(instance)?.described.name
        // With several connections the request may reach another instance, which does not answer it.
        for (let n = 0; n <= this.#instances.size && !heard.has(instance); n++) {
          const read = await this.#ask(describeRoute(name ?? '', instance), signal).catch(() => undefined)
          if (read !== undefined) take(read)
        }
      })
    )
    for (const [id, instance] of this.#instances) {
      if (heard.has(id)) continue
      hasChanged = true
      instance.rest()
      if (++instance.missed >= MAX_MISSED) this.#instances.delete(id)
    }
    for (const read of added) this.#timed(() => this.#add(read))
    return hasChanged && !signal.aborted
  }

  async #ask(route: string, signal: AbortSignal): Promise<ReadDescription> {
    const question = { figures: true, callers: true }
    const answer = await this.client.request(route, question, { timeout: PATIENCE, signal })
    return this.#timed(() => readDescription(answer, this.#crowd.instances))
  }

  #timed<Value>(read: () => Value): Value {
    const begin = performance.now()
    try {
      return read()
    } finally {
      this.#spent += performance.now() - begin
    }
  }

  /**
   * Adds a new instance. It replaces one that is missing, as after a restart; otherwise it is added if there is
   * room.
   */
  #add(read: ReadDescription): void {
    const [missing] = [...this.#instances].find(([, { missed }]) => missed > 0) ?? []
    const place = missing === undefined ? undefined : this.#instances.get(missing)?.id
    if (missing !== undefined) this.#instances.delete(missing)
    const most = Math.min(MAX_INSTANCES, Math.floor(MAX_ALL_INSTANCES / this.#crowd.services))
    if (this.#instances.size >= most) return
    const ids = new Set([...this.#instances.values()].map(({ id }) => id))
    const id = place ?? (ids.has(this.id) ? `${this.id} ${read.instance}` : this.id)
    this.#instances.set(read.instance, new WatchedInstance(id, read))
  }

  #forgetOthers(instance: string): void {
    for (const id of this.#instances.keys()) if (id !== instance) this.#instances.delete(id)
  }
}

/** @param wasThere whether the service has described itself before */
function problemOf(
  error: unknown,
  wasThere: boolean
): { readonly problem: string; readonly isSilent: boolean } {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (code === 'PATTERN_NOT_FOUND' && wasThere)
    return { problem: 'No instance of the service answers any more', isSilent: true }
  if (code === 'PATTERN_NOT_FOUND')
    return {
      problem:
        'The service does not describe itself: it needs the option describe, and over an engine the name that is shown here',
      isSilent: false
    }
  if (error instanceof TypeError)
    return {
      problem: `The service does not describe itself: ${shortText(message, MAX_PROBLEM)}`,
      isSilent: false
    }
  return {
    problem: `The service cannot be reached: ${shortText(message, MAX_PROBLEM) || 'the request failed without a message'}`,
    isSilent: true
  }
}
