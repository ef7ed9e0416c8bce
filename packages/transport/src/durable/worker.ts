/**
 * Runs the events of one durable handler in one process: how many run at the same time, in which order, and what
 * happens after each. Engines pass events in and carry out the decisions. This file knows no engine, and the clock is a
 * parameter.
 */
import type { Logger } from '../logger.ts'
import { shown } from '../quiet-log.ts'
import { isThenable, whenSettled } from '../stream.ts'
import { type Clock, passedBy } from './clock.ts'
import type { DurableEngine, HeldEvent } from './durable-engine.ts'
import type { DurableSettings } from './options.ts'
import { outcomeOf, reasonToGiveUp } from './outcome.ts'

/**
 * Only if a handler takes less than this number of milliseconds, further events are fetched before they can begin: with
 * a slow handler, other processes could run those events meanwhile.
 */
const QUICK = 100
/** Weight of the latest handler in the moving average of durations. */
const WEIGHT = 0.2
/** Number of events that may wait for an earlier event with the same key, for each event that may run. */
const WAITING_FOR_KEY = 16

/** Events with the same key, which run one after the other: the first event runs, or pauses before it runs again. */
type Line<Event> = Event[]

/** Runs the events of one handler. */
export class DurableWorker<Event extends HeldEvent> {
  readonly #settings: DurableSettings
  readonly #engine: DurableEngine<Event>
  readonly #clock: Clock
  readonly #logger: Logger
  /** Events that may begin, in the order in which they arrived. */
  #ready: Event[] = []
  #free: Event[] = []
  readonly #lines = new Map<string, Line<Event>>()
  readonly #running = new Set<Event>()
  /** Events that pause before this process retries them, each with a function that cancels the pause. */
  readonly #pausing = new Map<Event, () => void>()
  /** Events whose dead letters could not be stored yet, each with a function that cancels the next attempt. */
  readonly #unburied = new Map<Event, () => void>()
  /** All events that the worker has. */
  readonly #held = new Set<Event>()
  #isClosed = false
  #isBeginning = false
  #isStopped = false
  /** Starts at `QUICK`, so that no further events are fetched until the handler has been fast. */
  #meanTime = QUICK
  #retries = 0
  #deadLetters = 0
  #drained: (() => void) | undefined

  constructor(settings: DurableSettings, engine: DurableEngine<Event>, clock: Clock, logger: Logger) {
    this.#settings = settings
    this.#engine = engine
    this.#clock = clock
    this.#logger = logger
  }

  /** Number of events that run at the moment. */
  get running(): number {
    return this.#running.size
  }

  /** Whether the handler of an event runs in this process. */
  isRunning(event: Event): boolean {
    return this.#running.has(event)
  }

  /** All events that the worker has, running or not. */
  get held(): ReadonlySet<Event> {
    return this.#held
  }

  /**
   * Counts of deliveries that failed and were to be repeated, and of events that became dead letters in this process.
   */
  get figures(): { readonly retries: number; readonly deadLetters: number } {
    return { retries: this.#retries, deadLetters: this.#deadLetters }
  }

  /** How many more events the worker wants: as many as can run, and some more if the handler is fast. */
  get room(): number {
    if (this.#isStopped) return 0
    const { concurrency, ordered } = this.#settings
    if (ordered) return concurrency * WAITING_FOR_KEY - this.#held.size
    // Events that pause in this process, because the engine cannot delay them, do not keep other events from running,
    // up to a limit.
    const pausing = Math.min(this.#pausing.size + this.#unburied.size, concurrency * WAITING_FOR_KEY)
    return concurrency * (this.#meanTime < QUICK ? 2 : 1) - (this.#held.size - pausing)
  }

  /** How many events end within this time, one after the other, if each takes as long as the last ones did. */
  endsWithin(milliseconds: number): number {
    return milliseconds / Math.max(0, this.#meanTime)
  }

  /** Whether an ordered event with this key is here, so that a further one would wait for it. */
  holdsKey(key: string | undefined): boolean {
    return key !== undefined && this.#lines.has(key)
  }

  /** Takes an event. */
  add(event: Event): void {
    this.#held.add(event)
    if (event.isFree === true) this.#free.push(event)
    else if (!this.#settings.ordered || event.key === undefined) this.#ready.push(event)
    else {
      const line = this.#lines.get(event.key)
      if (line !== undefined) return void line.push(event)
      this.#lines.set(event.key, [event])
      this.#ready.push(event)
    }
    this.#begin()
  }

  /**
   * Begins no event until `open`, except free events and events that only this process has. Running handlers continue.
   */
  close(): void {
    this.#isClosed = true
  }

  /** Begins events again. */
  open(): void {
    this.#isClosed = false
    this.#begin()
  }

  /**
   * Lets go of all events that have not begun, and returns them. Events that pause before another attempt are included.
   * @param keepsFree keeps events that are free, that only this process has, or that wait to be stored as dead letters
   * @param isAsked lets go of these events only
   */
  release(keepsFree = false, isAsked: (event: Event) => boolean = () => true): Event[] {
    const released = [...this.#held].filter(
      (event) => !this.#running.has(event) && !(keepsFree && this.#stays(event)) && isAsked(event)
    )
    for (const event of released) {
      this.#held.delete(event)
      for (const waiting of [this.#pausing, this.#unburied]) {
        waiting.get(event)?.()
        waiting.delete(event)
      }
    }
    this.#free = this.#free.filter((event) => this.#held.has(event))
    this.#ready = this.#ready.filter((event) => this.#held.has(event))
    let isMore = false
    for (const [key, line] of this.#lines) {
      const left = line.filter((event) => this.#held.has(event))
      const [first] = left
      if (first === undefined) this.#lines.delete(key)
      else this.#lines.set(key, left)
      if (first === undefined || first === line[0]) continue
      // The first event of the line has gone, so the next one may begin.
      this.#ready.push(first)
      isMore = true
    }
    if (isMore) this.#begin()
    return released
  }

  #stays(event: Event): boolean {
    return event.isFree === true || event.isOnlyHere === true || this.#unburied.has(event)
  }

  /**
   * Begins no more events.
   * @returns `released`: the events that have not begun; `ended`: resolves when running handlers have ended
   */
  stop(): { readonly released: Event[]; readonly ended: Promise<void> } {
    this.#isStopped = true
    const released = this.release()
    const ended =
      this.#running.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (this.#drained = resolve))
    return { released, ended }
  }

  #begin(): void {
    // A handler that ends at once comes here again. If it began the next event from there, thousands of such events
    // would be thousands of calls inside each other, and overflow the stack.
    if (this.#isBeginning) return
    this.#isBeginning = true
    try {
      while (!this.#isStopped && this.#running.size < this.#settings.concurrency) {
        const event = this.#free.shift() ?? this.#nextReady()
        if (event === undefined) return
        if (this.#engine.isOurs(event)) this.#run(event)
        else this.#letGo(event)
      }
    } finally {
      this.#isBeginning = false
    }
  }

  #nextReady(): Event | undefined {
    if (!this.#isClosed) return this.#ready.shift()
    const index = this.#ready.findIndex(({ isOnlyHere }) => isOnlyHere === true)
    return index === -1 ? undefined : this.#ready.splice(index, 1)[0]
  }

  /** Lets go of an event that another process may have by now. Later events with the same key are let go as well. */
  #letGo(event: Event): void {
    const line = this.#lineOf(event)
    const isFirst = line?.[0] === event
    if (isFirst) this.#lines.delete(event.key as string)
    const gone = isFirst ? line : [event]
    // The engine may call `release`, which must not return these events a second time.
    for (const one of gone) this.#held.delete(one)
    for (const one of gone) this.#engine.letGo(one)
    this.#engine.left()
  }

  #run(event: Event): void {
    this.#running.add(event)
    const hopeless = reasonToGiveUp(event.attempt, this.#settings)
    if (hopeless !== undefined) return this.#bury(event, hopeless)
    const begun = passedBy(this.#clock)
    const ended = () => this.#ended(event, begun)
    const failed = (error: unknown) => this.#failed(event, error, begun)
    try {
      const result: unknown = this.#engine.run(event)
      if (typeof result === 'object' && result !== null && isThenable(result))
        void whenSettled(result, ended, failed)
      else ended()
    } catch (error) {
      failed(error)
    }
  }

  #pausesHere({ isOnlyHere }: Event): boolean {
    const { ordered } = this.#settings
    return (ordered || isOnlyHere === true || this.#engine.delays === false) && !this.#isStopped
  }

  #ended(event: Event, begun: number): void {
    this.#measure(begun)
    this.#engine.acknowledge(event)
    this.#over(event)
  }

  #failed(event: Event, error: unknown, begun: number): void {
    this.#measure(begun)
    const outcome = outcomeOf(error, event.attempt, this.#settings)
    const what = `The durable event '${shown(event.pattern)}' (id ${event.id}, attempt ${event.attempt})`
    if (outcome.kind === 'dead') return this.#bury(event, outcome.reason, error)
    if (outcome.kind === 'discard') {
      this.#logger.warn(`${what} is discarded by its handler: ${outcome.reason}`)
      this.#engine.acknowledge(event)
      return this.#over(event)
    }
    const hindered = this.#engine.whyNotLater?.(event, outcome.delay)
    if (hindered !== undefined) return this.#bury(event, `${outcome.reason}; ${hindered}`)
    this.#logger.warn(`${what} has failed and runs again in ${Math.round(outcome.delay)} ms`, error)
    this.#retries++
    if (this.#pausesHere(event)) {
      this.#engine.pauses?.(event)
      this.#pause(event, outcome.delay)
    } else {
      this.#engine.retry(event, outcome.delay)
      this.#over(event)
    }
  }

  #bury(event: Event, reason: string, error?: unknown): void {
    const what = `The durable event '${shown(event.pattern)}' (id ${event.id}, attempt ${event.attempt})`
    // If there is an error, the line needs no reason: the reason is the message of the error, which the logger writes.
    this.#logger.error(
      error === undefined ? `${what} becomes a dead letter: ${reason}` : `${what} becomes a dead letter`,
      error
    )
    this.#tryToBury(event, reason, what)
  }

  #tryToBury(event: Event, reason: string, what: string): void {
    void this.#engine.bury(event, reason).then(
      () => {
        this.#deadLetters++
        this.#over(event)
      },
      (cause: unknown) => {
        const { maxDelay } = this.#settings.retry
        this.#logger.error(
          `${what} could not be stored as a dead letter; trying again in ${maxDelay} ms`,
          cause
        )
        if (!this.#isStopped) return this.#buryLater(event, reason, what)
        this.#engine.retry(event, maxDelay)
        this.#over(event)
      }
    )
  }

  /**
   * Stores the dead letter later. Until then the handler does not run again for it, and no other event waits for it.
   */
  #buryLater(event: Event, reason: string, what: string): void {
    const again = () => {
      this.#unburied.delete(event)
      if (!this.#engine.isOurs(event)) return this.#letGo(event)
      this.#running.add(event)
      this.#tryToBury(event, reason, what)
    }
    this.#unburied.set(event, this.#clock.after(this.#settings.retry.maxDelay, again))
    this.#leave(event)
    this.#next()
  }

  /**
   * Retries the event in this process after a pause, so that no later event with the same key overtakes it and the
   * engine need not delay it.
   */
  #pause(event: Event, delay: number): void {
    this.#running.delete(event)
    this.#pausing.set(
      event,
      this.#clock.after(delay, () => {
        this.#pausing.delete(event)
        event.attempt++
        if (event.isFree === true) this.#free.push(event)
        else this.#ready.push(event)
        this.#begin()
      })
    )
    this.#next()
  }

  #over(event: Event): void {
    this.#held.delete(event)
    this.#leave(event)
    this.#next()
  }

  /** Frees the event's place among the running events and in the line of its key. */
  #leave(event: Event): void {
    this.#running.delete(event)
    const line = this.#lineOf(event)
    if (line !== undefined && line[0] === event) {
      line.shift()
      const [next] = line
      if (next === undefined) this.#lines.delete(event.key as string)
      else this.#ready.push(next)
    }
  }

  #next(): void {
    this.#settle()
    this.#engine.left()
    this.#begin()
  }

  /**
   * The line of an event. The key is read only if the handler is ordered, because some engines must search the headers
   * for it.
   */
  #lineOf(event: Event): Line<Event> | undefined {
    const { ordered } = this.#settings
    return ordered && event.isFree !== true && event.key !== undefined
      ? this.#lines.get(event.key)
      : undefined
  }

  #measure(begun: number): void {
    this.#meanTime += WEIGHT * (passedBy(this.#clock) - begun - this.#meanTime)
  }

  #settle(): void {
    if (this.#running.size === 0) this.#drained?.()
  }
}
