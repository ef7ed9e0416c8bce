/** Servers, clients and what they do, from a seed: the same seed gives the same figures to the last digit. */
import { Client, type ClientOptions, type Tally } from './client.ts'
import { Clock, dice, exponential } from './clock.ts'
import { Server, type ServerOptions } from './server.ts'

export interface WorldOptions extends ClientOptions {
  readonly servers: number
  readonly clients: number
  /** Calls offered, as a share of what all servers can do. */
  readonly load: number | ((time: number) => number)
  readonly server: ServerOptions
  /** One queue for all servers, which nobody could have: what is best. */
  readonly isPerfect?: boolean
  /** Seconds that pass. */
  readonly seconds: number
  /** Seconds at the beginning that are not measured. */
  readonly warmup: number
  readonly seed: number
}

/** What callers got in a second, or a part of one. */
export interface Slice {
  offered: number
  succeeded: number
  failed: number
  attempts: number
}

/** Slices a second. */
const SLICES = 1

export class World implements Tally {
  readonly clock = new Clock()
  readonly servers: readonly Server[]
  readonly slices: Slice[] = []
  readonly #options: WorldOptions
  readonly #random: () => number
  readonly #clients: readonly Client[]
  readonly #times: number[] = []
  #offered = 0
  #attempts = 0
  readonly #failures = new Map<string, number>()

  constructor(options: WorldOptions) {
    this.#options = options
    this.#random = dice(options.seed)
    const { servers, clients, server, isPerfect } = options
    const made = isPerfect
      ? [new Server(this.clock, this.#random, { ...server, workers: servers })]
      : Array.from({ length: servers }, () => new Server(this.clock, this.#random, server))
    this.servers = made
    this.#clients = Array.from(
      { length: clients },
      () => new Client(this.clock, this.#random, made, options, this)
    )
  }

  /** Does something when so many seconds have passed. */
  at(seconds: number, action: () => void): void {
    this.clock.after(seconds * 1_000, action)
  }

  /** So many clients make a call each, all at once. */
  burst(count: number): void {
    this.at(0, () => {
      for (const client of this.#clients.slice(0, count)) {
        this.#offered++
        this.#slice.offered++
        client.call()
      }
    })
  }

  run(): this {
    const { seconds, warmup } = this.#options
    this.at(warmup, () => {
      for (const server of this.servers) server.taken = 0
    })
    this.#offerNext()
    this.clock.runUntil(seconds * 1_000)
    return this
  }

  #offerNext(): void {
    const { servers, server, load, seconds } = this.#options
    const share = typeof load === 'number' ? load : load(this.clock.now / 1_000)
    const pause = exponential(server.work / servers / share, this.#random)
    this.clock.after(pause, () => {
      if (this.clock.now > seconds * 1_000) return
      this.#slice.offered++
      if (this.#isMeasured) this.#offered++
      this.#clients[Math.floor(this.#random() * this.#clients.length)]!.call()
      this.#offerNext()
    })
  }

  get #isMeasured(): boolean {
    return this.clock.now >= this.#options.warmup * 1_000
  }

  get #slice(): Slice {
    const at = Math.floor((this.clock.now / 1_000) * SLICES)
    while (this.slices.length <= at) this.slices.push({ offered: 0, succeeded: 0, failed: 0, attempts: 0 })
    return this.slices[at]!
  }

  succeeded(took: number): void {
    this.#slice.succeeded++
    if (this.#isMeasured) this.#times.push(took)
  }

  failed({ name }: Error): void {
    this.#slice.failed++
    if (this.#isMeasured) this.#failures.set(name, (this.#failures.get(name) ?? 0) + 1)
  }

  attempted(): void {
    this.#slice.attempts++
    if (this.#isMeasured) this.#attempts++
  }

  /** Milliseconds within which that share of the answers came. */
  percentile(share: number): number {
    const sorted = Float64Array.from(this.#times).sort()
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
  }

  /** Calls that failed, as a share of those that ended. */
  get failureShare(): number {
    const failed = [...this.#failures.values()].reduce((sum, count) => sum + count, 0)
    return failed / (failed + this.#times.length)
  }

  get failures(): number {
    return [...this.#failures.values()].reduce((sum, count) => sum + count, 0)
  }

  get attemptsPerCall(): number {
    return this.#attempts / this.#offered
  }

  /** What the busiest server was given, in multiples of the mean. */
  get spread(): number {
    const taken = this.servers.map((server) => server.taken)
    return (Math.max(...taken) * taken.length) / taken.reduce((sum, count) => sum + count, 0)
  }

  /** Answers a second from one second to another, as a share of what the servers can do. */
  goodput(from: number, to: number): number {
    const { servers, server } = this.#options
    const some = this.slices.slice(from * SLICES, to * SLICES)
    return (
      some.reduce((sum, { succeeded }) => sum + succeeded, 0) /
      (to - from) /
      ((servers * 1_000) / server.work)
    )
  }

  /** Curves: a point for each slice, in seconds and as a share of what the servers can do. */
  curve(of: (slice: Slice) => number): { readonly time: number; readonly share: number }[] {
    const { servers, server } = this.#options
    const capacity = (servers * 1_000) / server.work / SLICES
    return this.slices.map((slice, index) => ({ time: index / SLICES, share: of(slice) / capacity }))
  }
}
