/** One feed, over a store that a test plays. */
import { setImmediate as turn } from 'node:timers/promises'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { GroupAbout, Standing, Take } from '../driver.ts'
import { RedisEvent, type Source } from '../durable/event.ts'
import { Feed } from '../durable/feed.ts'
import type { FeedOptions, FeedOwner } from '../durable/feed-owner.ts'
import { streamOf } from '../words/keys.ts'

/** The error of a server that refuses a command. */
export function refused(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' })
}

/** A feed over a store that answers as the test wants, and notes what it is asked. */
export class OverStore {
  readonly asked: string[] = []
  /** The events of which `keep` says that another process has them. */
  lost: readonly string[] = []
  last = '0-0'
  readonly kept: (readonly string[])[] = []
  /** Said to the handler of the events. */
  readonly told: string[] = []
  readonly lines: string[] = []
  /** Events that the handler may take. */
  room = 2
  isIdle = false
  isConnected = true
  groups: readonly GroupAbout[] = [{ name: 'g', lag: 0, pending: 0 }]
  /** The requests: `take` or `new`, and for how many. */
  readonly requests: string[] = []
  /** The error of the next command to keep leases. */
  refusal: Error | undefined
  /** For each request whether it was for all events. */
  readonly takesAll: boolean[] = []
  #answer: (take: Take) => void = () => {}
  #refuse: (error: Error) => void = () => {}
  /** Called by the test: the store has run the command. */
  readonly #ends = new Map<string, () => void>()
  readonly #source: Source
  readonly feed: Feed
  #answerNew: (answer: unknown) => void = () => {}

  /** @param turn the key of the turn, for an ordered handler */
  constructor({ turn, isAgain = false }: { readonly turn?: string; readonly isAgain?: boolean } = {}) {
    this.#source = { stream: streamOf('p'), pattern: 'p', isAgain }
    const store = {
      takeNew: (_reader: unknown, room: number) => {
        this.requests.push(`new ${room}`)
        return new Promise((resolve, reject) => {
          this.#answerNew = resolve
          this.#refuse = reject
        })
      },
      take: (_reader: unknown, room: number, isAll: boolean) => {
        this.requests.push(`take ${room}`)
        this.takesAll.push(isAll)
        return new Promise<Take>((resolve, reject) => {
          this.#answer = resolve
          this.#refuse = reject
        })
      },
      keep: async (_: unknown, places: readonly string[]) => {
        this.kept.push(places)
        if (this.refusal !== undefined) throw this.refusal
        return this.lost
      },
      groups: async () => this.groups,
      last: async () => this.last,
      trim: async (_: unknown, maxAge: number) => void this.asked.push(`trim ${maxAge}`),
      acknowledge: () => this.#asked('acknowledge'),
      giveBack: () => this.#asked('giveBack'),
      leave: async () => void this.asked.push('leave')
    }
    const over = this
    const connection = {
      get isConnected() {
        return over.isConnected
      },
      hear: async () => {},
      unhear() {},
      store
    } as unknown as RedisConnection
    const owner: FeedOwner = {
      get room() {
        return over.room
      },
      get isIdle() {
        return over.isIdle
      },
      uncertain: () => void this.told.push('uncertain'),
      paused: (isPaused) => void (isPaused && this.told.push('paused')),
      gone: (_, why) => void this.told.push(`gone: ${why}`),
      fill() {},
      receive: (events, isAll) => {
        if (isAll) this.told.push(`all ${events.map(({ place }) => place)}`)
        for (const event of events) this.feed.held.take(event)
      }
    }
    const note = (line: string) => void this.lines.push(line)
    const rest = { rounds: { add() {}, remove() {} }, owner, logger: { error: note, warn: note } }
    const options = {
      source: this.#source,
      group: 'g',
      process: 'a',
      ackWait: 30_000,
      maxAge: 7,
      turn,
      ...rest
    }
    this.feed = new Feed(options as unknown as FeedOptions)
    void this.feed.start(connection)
  }

  #asked(command: string): Promise<void> {
    this.asked.push(command)
    return new Promise((resolve) => this.#ends.set(command, resolve))
  }

  /** Holds an event. @param leasedUntil milliseconds of `performance.now()` */
  hold(place: string, leasedUntil = 0): RedisEvent {
    const event = new RedisEvent(this.#source, place, [], 1, leasedUntil)
    this.feed.held.take(event)
    return event
  }

  /** Lets the feed ask once more, and answers. */
  async take(standing: Partial<Standing>, ...places: readonly string[]): Promise<void> {
    const entries = places.map((place) => [place, [], 1] as const)
    const full = { done: '', first: '', undone: 0, more: -1, ...standing }
    this.feed.wake()
    this.#answer({ state: 'ok', isNew: false, entries, refusal: '', standing: full })
    await this.settle()
  }

  /** Answers a request for new events only. */
  async answerNew(isPaused: boolean, ...places: readonly string[]): Promise<void> {
    this.#answerNew({ entries: places.map((place) => [place, []]), isPaused })
    await this.settle()
  }

  /** Another process has the turn, or the group is paused. */
  async answer(take: Take): Promise<void> {
    await this.settle()
    this.#answer(take)
    await this.settle()
  }

  /** The server is lost, or refuses the request. */
  async refuse(error = new Error('Connection is closed.')): Promise<void> {
    this.#refuse(error)
    await this.settle()
  }

  async end(command: string): Promise<void> {
    this.#ends.get(command)?.()
    await this.settle()
  }

  async settle(): Promise<void> {
    for (let n = 0; n < 10; n++) await turn()
  }
}
