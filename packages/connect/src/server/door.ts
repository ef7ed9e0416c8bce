/** A door: the server for calls of Connect and gRPC-Web on the port of an app. It has the services that answer. */
import { CallFailure } from '@elysia-microservices/protobuf/rpc'
import type { Dispatcher, ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import type { Door } from 'elysia-microservices/kit'
import type { CheckedOptions } from '../options.ts'
import type { ClientEnd } from './client-end.ts'
import type { CallableMethod, Candidate } from './methods.ts'
import { type EndOwner, ServiceEnd } from './service-end.ts'

/** Milliseconds that a call waits for the app's services to start: an app begins to listen before they do. */
const START = 2_000
/** Largest number of calls that wait for services. */
const MOST_AWAITING = 1_000

/** The answering side of a method. */
export interface Found extends Pick<Candidate, 'pattern' | 'route'>, Pick<ServiceEnd, 'logger' | 'running'> {
  readonly dispatcher: Dispatcher
  /** Whether the handler is in another process. */
  readonly isRemote: boolean
}

/** The services behind `connectRpc()`. */
export class ConnectDoor implements Door, EndOwner {
  readonly maxInFlight: number
  readonly #methods: readonly CallableMethod[]
  /** Answers in place of the app's services; `undefined`: the services do. */
  readonly #client: ClientEnd | undefined
  readonly #ends = new Set<ServiceEnd>()
  /** Ends of services that have not started yet. */
  readonly #starting = new Set<ServiceEnd>()
  readonly #found = new Map<CallableMethod, Found>()
  /** The callbacks of calls that wait for a service; each ends the wait of one call. */
  readonly #awaited = new Set<() => void>()
  /** Whether a service has been here: calls wait for the first one only. */
  #hasOpened = false
  #isComplete = false
  /** Whether the methods have been compared with the handlers of the services. */
  #isCompared = false

  constructor(
    { limits }: Pick<CheckedOptions, 'limits'>,
    methods: readonly CallableMethod[],
    client?: ClientEnd
  ) {
    this.maxInFlight = limits.inFlight
    this.#methods = methods
    this.#client = client
  }

  newServer(context: ServerContext): ServerTransport {
    const end = new ServiceEnd(this, context)
    this.#starting.add(end)
    return end
  }

  opened(end: ServiceEnd): void {
    this.#starting.delete(end)
    this.#ends.add(end)
    this.#hasOpened = true
    this.#found.clear()
    for (const resolve of this.#awaited) resolve()
    this.#compareAtStart()
  }

  closed(end: ServiceEnd): void {
    this.#starting.delete(end)
    this.#ends.delete(end)
    this.#found.clear()
  }

  /** Called when the app has loaded all of its plugins, so that no further service is expected. */
  allServicesKnown(): void {
    this.#isComplete = true
    this.#compareAtStart()
  }

  /**
   * The service for a call of a method. Services that have not started yet are awaited for a moment.
   * @throws {CallFailure} `unavailable`: no service answers, or too many calls are in flight
   */
  find(callable: CallableMethod): Found | Promise<Found> {
    const awaitsFirst = !this.#hasOpened && this.#client === undefined
    return awaitsFirst ? this.#findSoon(callable) : this.#findNow(callable)
  }

  async #findSoon(callable: CallableMethod): Promise<Found> {
    if (this.#awaited.size < MOST_AWAITING) await this.#started()
    return this.#findNow(callable)
  }

  #findNow(callable: CallableMethod): Found {
    if (!this.#isOpen) throw new CallFailure('unavailable', 'No service answers here at the moment')
    if (this.#inFlight >= this.maxInFlight)
      throw new CallFailure('unavailable', `limits.inFlight is reached (${this.maxInFlight} calls)`)
    const known = this.#found.get(callable)
    if (known !== undefined) return known
    const found = this.#byClient(callable) ?? this.#search(callable) ?? this.#anywhere(callable)
    this.#found.set(callable, found)
    return found
  }

  get #isOpen(): boolean {
    return this.#client?.isOpen ?? this.#ends.size > 0
  }

  #byClient(callable: CallableMethod): Found | undefined {
    if (this.#client === undefined) return undefined
    const { logger, running } = this.#client
    const { pattern, route } = callable.candidates[0]
    return {
      pattern,
      route,
      logger,
      running,
      dispatcher: this.#client.dispatcherOf(callable),
      isRemote: true
    }
  }

  /** The service with a handler of this very pattern, else one with a handler that takes the pattern, too. */
  #search(callable: CallableMethod): Found | undefined {
    for (const which of ['exactly', 'nearly'] as const)
      for (const end of this.#ends) {
        const candidate = end[which](callable)
        if (candidate !== undefined) return foundAt(end, candidate)
      }
    return undefined
  }

  /** Any service, which answers that it has no handler. */
  #anywhere({ candidates: [first] }: CallableMethod): Found {
    const [end] = this.#ends
    return foundAt(end as ServiceEnd, first)
  }

  get #inFlight(): number {
    let count = this.#client?.running.inFlight ?? 0
    for (const { running } of this.#ends) count += running.inFlight
    return count
  }

  async #started(): Promise<void> {
    let resolve = () => {}
    const started = new Promise<void>((settle) => {
      resolve = settle
    })
    this.#awaited.add(resolve)
    const timer = setTimeout(resolve, START)
    await started
    clearTimeout(timer)
    this.#awaited.delete(resolve)
  }

  #compareAtStart(): void {
    if (!this.#isComplete || this.#ends.size === 0 || this.#starting.size > 0 || this.#isCompared) return
    this.#isCompared = true
    const missing = this.#methods.filter((method) => this.#search(method) === undefined)
    const [end] = this.#ends
    for (const { method, candidates } of missing) {
      const patterns = candidates.map(({ pattern }) => `'${pattern}'`).join(', ')
      end?.logger.warn(`connectRpc(): no handler for ${method.path}; looked for the patterns ${patterns}`)
    }
  }
}

function foundAt({ dispatcher, running, logger }: ServiceEnd, { pattern, route }: Candidate): Found {
  return { pattern, route, dispatcher, running, logger, isRemote: false }
}
