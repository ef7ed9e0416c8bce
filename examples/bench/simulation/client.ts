/**
 * A client of the simulation. Which server takes a call, which failed call is made again and who is left out is decided
 * by the very code of the TCP client; or, to compare, by turns or by chance.
 */
import {
  Balancer,
  type Candidate,
  type FailedCall,
  isEndpointFailure,
  RESILIENCE_DEFAULTS,
  RetryPolicy,
  resilienceOptions
} from '@elysia-microservices/tcp/kit'
import { ConnectionError, RejectedError, TimeoutError } from '@elysia-microservices/transport'
import { backoffDelay } from '@elysia-microservices/transport/kit'
import type { Clock } from './clock.ts'
import type { Server } from './server.ts'

/** How a server is chosen: as our client does, or to compare. */
export type Choice = 'ours' | 'ours, nobody ejected' | 'round robin' | 'random'
/** Which failed calls are made again: as our client does, or to compare. */
export type Retries = 'ours' | 'none' | 'three at once'

export interface ClientOptions {
  readonly choice: Choice
  readonly retries: Retries
  /** Milliseconds until a call fails. */
  readonly timeout: number
  /** Milliseconds of the way to a server, and back. */
  readonly latency: number
}

/** Takes what calls end with. */
export interface Tally {
  /** @param took milliseconds since the call was made, retries included */
  succeeded(took: number): void
  failed(error: Error): void
  attempted(): void
}

/** A server as one client sees it. */
class Endpoint implements Candidate {
  readonly slot = 0
  readonly priority = 0
  readonly weight = 1
  usable = true
  inFlight = 0
  readonly name: string
  readonly server: Server

  constructor(name: string, server: Server) {
    this.name = name
    this.server = server
  }
}

interface Call extends FailedCall {
  readonly madeAt: number
  retries: number
  readonly deadline: number
  failedAt: Endpoint | undefined
  isSettled: boolean
}

const { retry, eject, reconnect } = resilienceOptions(RESILIENCE_DEFAULTS)
/** What is called without thinking: again, at once, until it has failed three times. */
const NAIVE = { attempts: 3 }

export class Client {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #options: ClientOptions
  readonly #tally: Tally
  readonly #endpoints: readonly Endpoint[]
  readonly #balancer: Balancer<Endpoint> | undefined
  readonly #policy: RetryPolicy
  #turn: number
  #started = 0
  /** Calls that wait for a connection. */
  #waiting: Call[] = []

  constructor(
    clock: Clock,
    random: () => number,
    servers: readonly Server[],
    options: ClientOptions,
    tally: Tally
  ) {
    this.#clock = clock
    this.#random = random
    this.#options = options
    this.#tally = tally
    this.#endpoints = servers.map((server, index) => new Endpoint(`server-${index}`, server))
    // Clients do not all begin with the same.
    this.#turn = Math.floor(random() * servers.length)
    this.#policy = new RetryPolicy(retry, 0, random)
    if (options.choice.startsWith('ours')) {
      const health = options.choice === 'ours' ? eject : undefined
      this.#balancer = new Balancer({ health, random, ejected() {}, restored() {} })
      this.#balancer.use(this.#endpoints)
    }
    for (const endpoint of this.#endpoints) endpoint.server.watch((isUp) => this.#watched(endpoint, isUp))
  }

  call(): void {
    const { now } = this.#clock
    const call: Call = {
      madeAt: now,
      retries: 0,
      deadline: now + this.#options.timeout,
      isAnswered: false,
      input: undefined,
      // A request that may run twice, as reading is.
      options: { idempotent: true },
      failedAt: undefined,
      isSettled: false
    }
    this.#clock.after(this.#options.timeout, () => {
      if (!call.isSettled) this.#fail(call, new TimeoutError('a call', this.#options.timeout))
    })
    this.#started++
    this.#attempt(call)
  }

  #attempt(call: Call): void {
    if (call.isSettled) return
    const endpoint = this.#choose(call)
    if (endpoint === undefined) return void this.#waiting.push(call)
    this.#tally.attempted()
    endpoint.inFlight++
    const { latency } = this.#options
    let isOver = false
    const over = (then: () => void) => {
      if (isOver) return
      isOver = true
      endpoint.inFlight--
      then()
    }
    // A call that its caller has given up is in flight no more, and has failed here.
    this.#clock.after(call.deadline - this.#clock.now, () =>
      over(() => this.#blame(endpoint, new TimeoutError('a call', this.#options.timeout)))
    )
    const ended = (then: () => void) => this.#clock.after(latency, () => over(then))
    const failedWith = (error: Error) => ended(() => this.#failed(call, endpoint, error))
    this.#clock.after(latency, () =>
      endpoint.server.take({
        answered: () => ended(() => this.#succeed(call)),
        refused: () => failedWith(new RejectedError('The server has too many')),
        lost: () => failedWith(new ConnectionError('The connection is lost', true))
      })
    )
  }

  #choose({ failedAt }: Call): Endpoint | undefined {
    if (this.#balancer !== undefined) return this.#balancer.pick(this.#clock.now, undefined, failedAt)
    const usable = this.#endpoints.filter((endpoint) => endpoint.usable)
    if (this.#options.choice === 'random') return usable[Math.floor(this.#random() * usable.length)]
    return usable[this.#turn++ % usable.length]
  }

  #succeed(call: Call): void {
    if (call.isSettled) return
    call.isSettled = true
    this.#tally.succeeded(this.#clock.now - call.madeAt)
  }

  #fail(call: Call, error: Error): void {
    call.isSettled = true
    this.#tally.failed(error)
  }

  #blame(endpoint: Endpoint, error: Error): void {
    if (endpoint.usable && isEndpointFailure(error)) this.#balancer?.failed(endpoint, this.#clock.now)
  }

  #failed(call: Call, endpoint: Endpoint, error: Error): void {
    this.#blame(endpoint, error)
    if (call.isSettled) return
    const pause = this.#pause(call, endpoint, error)
    if (pause === undefined) return this.#fail(call, error)
    call.retries++
    call.failedAt = endpoint
    this.#clock.after(pause, () => this.#attempt(call))
  }

  /** Milliseconds until a call is made again; `undefined` if it is not. */
  #pause(call: Call, endpoint: Endpoint, error: Error): number | undefined {
    const { retries } = this.#options
    if (retries === 'none') return undefined
    if (retries === 'three at once') return call.retries + 1 < NAIVE.attempts ? 0 : undefined
    const isElsewhere = this.#endpoints.some((other) => other !== endpoint && other.usable)
    return this.#policy.pause(call, error, isElsewhere, this.#clock.now, this.#started)
  }

  #watched(endpoint: Endpoint, isUp: boolean): void {
    if (isUp) return
    endpoint.usable = false
    this.#reconnect(endpoint, 0)
  }

  #reconnect(endpoint: Endpoint, attempt: number): void {
    this.#clock.after(backoffDelay(reconnect!, attempt, this.#random()), () => {
      if (!endpoint.server.isUp) return this.#reconnect(endpoint, attempt + 1)
      endpoint.usable = true
      for (const call of this.#waiting.splice(0)) this.#attempt(call)
    })
  }
}
