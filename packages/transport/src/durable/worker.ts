/**
 * The events of one durable handler in one process: how many run at a time, in which order, and what their ends mean.
 * Engines hand events in and do what is decided; here is no engine, and time is given.
 */
import type { Logger } from '../logger.ts'
import { shown } from '../quiet-log.ts'
import { isThenable, whenSettled } from '../stream.ts'
import type { Clock } from './clock.ts'
import type { DurableSettings } from './options.ts'
import { outcomeOf, reasonToGiveUp } from './outcome.ts'

/** The fields of a stored event that decide what happens to it. */
export interface HeldEvent {
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  /** Deliveries, from 1. Retries that are made in place count on. */
  attempt: number
  /** It is in no order with any other, and begins also while the worker is closed. Default: false. */
  readonly isFree?: boolean
  /**
   * The engine has lost it: it cannot be given back, and nobody else has it. It begins also while the worker is closed, and
   * is retried here. Default: false.
   */
  readonly isOnlyHere?: boolean
}

/** Does what is decided. */
export interface DurableEngine<Event extends HeldEvent> {
  /** Runs the handlers; settles with their outcome. */
  run(event: Event): void | Promise<void>
  /** Whether the event is still ours; false, and it is let go, because it comes again. */
  isOurs(event: Event): boolean
  /** It has been let go: it is not ours any more, or comes behind one that is not. */
  letGo(event: Event): void
  /** Acknowledges an event that has succeeded, or that its handler has discarded. */
  acknowledge(event: Event): void
  /**
   * Whether the engine delivers again after a pause (`traits.stores.delays`). If not, an event pauses here, and is kept
   * ours meanwhile. Default: true.
   */
  readonly delays?: boolean
  /** It is to be delivered again after `delay` milliseconds. */
  retry(event: Event, delay: number): void
  /** It is to be kept as a dead letter. Resolves when it is stored, and acknowledged then. */
  bury(event: Event, reason: string): Promise<void>
  /** An event has left: there is room for another. */
  left(): void
}

/** Milliseconds a handler may take for events to be held that cannot begin yet: others could have them meanwhile. */
const QUICK = 100
/** How much the last handler counts for the mean. */
const WEIGHT = 0.2
/** Events that may wait for those of their key, for each that may run. */
const WAITING_FOR_KEY = 16

/** Events with a key, one after the other: the first one runs, or pauses before it runs again. */
type Line<Event> = Event[]

/** Runs the events of one handler. */
export class DurableWorker<Event extends HeldEvent> {
  readonly #settings: DurableSettings
  readonly #engine: DurableEngine<Event>
  readonly #clock: Clock
  readonly #logger: Logger
  /** Events that may begin, in the order of their coming. */
  #ready: Event[] = []
  #free: Event[] = []
  readonly #lines = new Map<string, Line<Event>>()
  readonly #running = new Set<Event>()
  /** Events that pause before they are tried again here, with what ends the pause. */
  readonly #pausing = new Map<Event, () => void>()
  /** Events whose dead letters could not be stored and are tried again, with what prevents that. */
  readonly #unburied = new Map<Event, () => void>()
  /** All events that are here. */
  readonly #held = new Set<Event>()
  #isClosed = false
  #isStopped = false
  /** Nothing is held in advance before a handler has been seen to be quick. */
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

  /** Events that run at the moment. */
  get running(): number {
    return this.#running.size
  }

  /** Whether an attempt at an event is under way in this process. */
  isRunning(event: Event): boolean {
    return this.#running.has(event)
  }

  /** Events that are here, running or not. */
  get held(): ReadonlySet<Event> {
    return this.#held
  }

  /** Deliveries that have failed here and were to be repeated, and events that became dead letters here. */
  get figures(): { readonly retries: number; readonly deadLetters: number } {
    return { retries: this.#retries, deadLetters: this.#deadLetters }
  }

  /** How many more events are wanted: as many as can run, and some in advance where handlers are quick. */
  get room(): number {
    if (this.#isStopped) return 0
    const { concurrency, ordered } = this.#settings
    if (ordered) return concurrency * WAITING_FOR_KEY - this.#held.size
    // Events that pause here, because the engine cannot delay them, keep no other from running, up to a bound.
    const pausing = Math.min(this.#pausing.size + this.#unburied.size, concurrency * WAITING_FOR_KEY)
    return concurrency * (this.#meanTime < QUICK ? 2 : 1) - (this.#held.size - pausing)
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

  /** Begins no event until `open`, but those that are free. What runs goes on. */
  close(): void {
    this.#isClosed = true
  }

  /** Begins events again. */
  open(): void {
    this.#isClosed = false
    this.#begin()
  }

  /**
   * Lets go of all events that have not begun, and gives them. Those that pause before another attempt are among them.
   * @param keepsFree those that are free, only here, or as good as dead stay
   */
  release(keepsFree = false): Event[] {
    const released = [...this.#held].filter(
      (event) => !this.#running.has(event) && !(keepsFree && this.#stays(event))
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
    for (const [key, line] of this.#lines) {
      const left = line.filter((event) => this.#held.has(event))
      if (left.length === 0) this.#lines.delete(key)
      else this.#lines.set(key, left)
    }
    return released
  }

  #stays(event: Event): boolean {
    return event.isFree === true || event.isOnlyHere === true || this.#unburied.has(event)
  }

  /**
   * Begins nothing any more. Resolves when what runs has ended.
   * @returns what has not begun
   */
  stop(): { readonly released: Event[]; readonly ended: Promise<void> } {
    this.#isStopped = true
    const released = this.release()
    const ended =
      this.#running.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (this.#drained = resolve))
    return { released, ended }
  }

  #begin(): void {
    // The handler's first turn may call this method again.
    while (!this.#isStopped && this.#running.size < this.#settings.concurrency) {
      const event = this.#free.shift() ?? this.#nextReady()
      if (event === undefined) return
      if (this.#engine.isOurs(event)) this.#run(event)
      else this.#letGo(event)
    }
  }

  #nextReady(): Event | undefined {
    if (!this.#isClosed) return this.#ready.shift()
    const index = this.#ready.findIndex(({ isOnlyHere }) => isOnlyHere === true)
    return index === -1 ? undefined : this.#ready.splice(index, 1)[0]
  }

  /** An event that may be with another process by now: so may be all that come behind it. */
  #letGo(event: Event): void {
    const line = this.#lineOf(event)
    const isFirst = line?.[0] === event
    if (isFirst) this.#lines.delete(event.key as string)
    for (const one of isFirst ? line : [event]) {
      this.#held.delete(one)
      this.#engine.letGo(one)
    }
    this.#engine.left()
  }

  #run(event: Event): void {
    this.#running.add(event)
    const hopeless = reasonToGiveUp(event.attempt, this.#settings)
    if (hopeless !== undefined) return this.#bury(event, hopeless)
    const begun = this.#clock.now()
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
    this.#logger.warn(`${what} has failed and runs again in ${Math.round(outcome.delay)} ms`, error)
    this.#retries++
    if (this.#pausesHere(event)) this.#pause(event, outcome.delay)
    else {
      this.#engine.retry(event, outcome.delay)
      this.#over(event)
    }
  }

  #bury(event: Event, reason: string, error?: unknown): void {
    const what = `The durable event '${shown(event.pattern)}' (id ${event.id}, attempt ${event.attempt})`
    // The reason is the error's message, which the logger writes with the error.
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

  /** Its handler is not run again meanwhile, and neither others nor those of its key wait for it. */
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

  /** In place: no later event of its key can overtake it, and the engine need not have it wait. */
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

  /** It takes no place among those that run, nor in the line of its key. */
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

  /** Keys are read only where they matter: engines find them among headers. */
  #lineOf(event: Event): Line<Event> | undefined {
    const { ordered } = this.#settings
    return ordered && event.isFree !== true && event.key !== undefined
      ? this.#lines.get(event.key)
      : undefined
  }

  #measure(begun: number): void {
    this.#meanTime += WEIGHT * (this.#clock.now() - begun - this.#meanTime)
  }

  #settle(): void {
    if (this.#running.size === 0) this.#drained?.()
  }
}
