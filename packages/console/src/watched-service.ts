/** One service as it is asked again and again, with every process of it that answers. */
import { DESCRIBE_ROUTE, describeRoute } from 'elysia-microservices/kit'
import { shortText } from './bounds.ts'
import type { ConsoleClient } from './clients.ts'
import { type ReadDescription, readDescription } from './description.ts'
import type { ServiceSample, ServiceView } from './protocol.ts'
import { type ToldSample, WatchedInstance } from './watched-instance.ts'

/** Milliseconds that a service may take to describe itself. */
const PATIENCE = 5_000
/** Instances of a service that are shown: what answers need not be trusted, and may name a new one each time. */
const MAX_INSTANCES = 50
/** Instances of all services together; with very many services each may have fewer. */
const MAX_ALL_INSTANCES = 3_000
/** Why a service tells nothing of itself has as many characters. */
const MAX_PROBLEM = 300
/**
 * The time from one question to the next is as many times what it took to read the answer, for each service: so reading
 * takes at most a tenth of a processor, and a service that tells much of itself slows down nobody but itself.
 */
const REST = 10
/** Questions in one round that look for instances not known yet. */
const MAX_SEARCHES = 10
/** Rounds without an answer after which an instance is gone. */
const MAX_MISSED = 3

/** How many are watched together. */
export interface Crowd {
  readonly services: number
  /** Of all services. */
  readonly instances: number
}

/** Asks one service. */
export class WatchedService {
  readonly id: string
  readonly client: ConsoleClient
  /** The question that any of its instances answers. */
  readonly #anybody: string
  #problem: string | undefined = 'It has not answered yet'
  /** By their own ids. A service that does not say who answers is one instance, `''`. */
  readonly #instances = new Map<string, WatchedInstance>()
  #isAsking = false
  /** Milliseconds that reading has taken in this round, and when the next one may begin. */
  #spent = 0
  #notBefore = 0
  #crowd: Crowd = { services: 1, instances: 1 }
  /** It was asked and has not answered, or cannot be reached. */
  #isSilent = false
  #isCutOff = false

  constructor(id: string, client: ConsoleClient) {
    this.id = id
    this.client = client
    this.#anybody = client.traits?.shares === 'engine' ? describeRoute(id) : DESCRIBE_ROUTE
  }

  /** How many instances of it are known, at least one. */
  get size(): number {
    return Math.max(1, this.#instances.size)
  }

  /** Characters of the descriptions of all its instances, about. */
  get characters(): number {
    return [...this.#instances.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** The views of its instances; the service without a description if none has answered. */
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

  /** The figures of each instance between its last two answers; each sample is given once. */
  takeSamples(at: number): (readonly [id: string, sample: ServiceSample])[] {
    return [...this.#instances.values()].flatMap((instance) => {
      const sample = instance.takeSample(at)
      return sample === undefined ? [] : [[instance.id, sample] as const]
    })
  }

  /** The last sample of each instance that was taken, and when. */
  get told(): (readonly [id: string, told: ToldSample])[] {
    return [...this.#instances.values()].flatMap(({ id, told }) => (told === undefined ? [] : [[id, told]]))
  }

  /** Forgets what was counted: nobody looks any more. */
  rest(): void {
    for (const instance of this.#instances.values()) instance.rest()
  }

  /**
   * Asks it, unless it still owes an answer. Never rejects.
   * @returns whether something else than figures has changed
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
    return this.client.traits?.shares === 'engine'
  }

  /**
   * A load balancer or a broker chooses who answers: so it is asked until a known instance does,
   * and then all who have not answered are asked by their ids.
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
      // Instances that were known before the service was away may have gone with it.
      if (this.#problem !== undefined) this.#forgetOthers(first.instance)
      this.#problem = undefined
      this.#isSilent = false
      this.#isCutOff = false
      const isNew = take(first)
      // Where they take turns, the same number of questions in each round may meet the same ones each time.
      if (!isNew && (this.#instances.size < 2 || Math.random() < 0.5)) break
      hasChanged ||= isNew
      if (first.instance === '') break
    }
    const missing = [...this.#instances.keys()].filter((instance) => !heard.has(instance))
    await Promise.all(
      missing.map(async (instance) => {
        const name = isSure ? this.id : this.#instances.get(instance)?.described.name
        // Over several connections the question may come to another instance, which does not answer it.
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

  /** It takes the place of one that is missing, as after a restart; else one of its own, if there is room. */
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

/** @param wasThere it has described itself before */
function problemOf(
  error: unknown,
  wasThere: boolean
): { readonly problem: string; readonly isSilent: boolean } {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (code === 'PATTERN_NOT_FOUND' && wasThere)
    return { problem: 'Nobody answers for it any more', isSilent: true }
  if (code === 'PATTERN_NOT_FOUND')
    return {
      problem:
        'It does not describe itself: the service needs the option describe, and over an engine this name',
      isSilent: false
    }
  if (error instanceof TypeError)
    return { problem: `It does not describe itself: ${shortText(message, MAX_PROBLEM)}`, isSilent: false }
  return {
    problem: `It cannot be asked: ${shortText(message, MAX_PROBLEM) || 'it failed without a word'}`,
    isSilent: true
  }
}
