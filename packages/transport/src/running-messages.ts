/**
 * The messages that a server handles at the moment, and how they end when the server stops: the same for every
 * transport.
 */
import type { Dispatcher } from './dispatcher.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { LONGEST_TIME } from './options.ts'
import { type EventSender, reportEvent } from './report-event.ts'

/** Milliseconds that work in flight may take when a server stops, unless `StopOptions.drain` says otherwise. */
export const DEFAULT_DRAIN = 10_000

/** The answer to a message, while its handler runs. */
export interface RunningAnswer {
  /** Ends the answer and tells its caller, because the server waits no longer. */
  cut(): void
}

/** Counts the messages in flight, and ends them. */
export class RunningMessages {
  readonly #answers = new Set<RunningAnswer>()
  readonly #streams = new Set<RunningAnswer>()
  #events = 0
  /** Resolves the promise of `drained`. */
  #settled: (() => void) | undefined

  /** Number of requests, streams and events that have begun and not ended. */
  get inFlight(): number {
    return this.#answers.size + this.#events
  }

  /** Number of streams in flight. */
  get streams(): number {
    return this.#streams.size
  }

  /** Counts an answer that has begun. At its end, the answer calls `end`. */
  begin(answer: RunningAnswer, isStream: boolean): void {
    this.#answers.add(answer)
    if (isStream) this.#streams.add(answer)
  }

  /** Counts an answer as ended. Further calls for the same answer do nothing. */
  end(answer: RunningAnswer): void {
    this.#answers.delete(answer)
    this.#streams.delete(answer)
    this.#ended()
  }

  /**
   * Passes an event to its handlers; failures are only logged. Never throws.
   * @param ended is called once, when all handlers of the event have ended
   * @param sender is told of a refusal. Default: nobody is told
   * @returns whether all handlers ended in this turn of the event loop
   */
  event(
    dispatcher: Pick<Dispatcher, 'event'>,
    message: IncomingMessage,
    logger: Logger,
    ended: () => void = () => {},
    sender?: EventSender
  ): boolean {
    this.#events++
    const over = () => {
      this.#events--
      ended()
      this.#ended()
    }
    return reportEvent(dispatcher, message, logger, over, sender)
  }

  #ended(): void {
    if (this.#settled !== undefined && this.inFlight === 0) this.#settled()
  }

  /**
   * Waits for the messages in flight, and cuts the answers that are left when the time is over. Handlers of events are
   * not cut, because nobody waits for them. No message may begin once `before` has settled.
   * @param ms milliseconds; default: `DEFAULT_DRAIN`
   * @param before other work that has to end, such as taking messages; it does not matter whether it succeeds
   * @returns whether everything has ended in time
   */
  async drained(ms: number | undefined, ...before: readonly Promise<unknown>[]): Promise<boolean> {
    const isInTime = await endedWithin(this.#end(before), ms)
    this.#settled = undefined
    this.cut()
    return isInTime
  }

  async #end(before: readonly Promise<unknown>[]): Promise<void> {
    await Promise.allSettled(before)
    if (this.inFlight === 0) return
    await new Promise<void>((resolve) => {
      this.#settled = resolve
    })
  }

  /** Ends all answers at once; their callers are told. */
  cut(): void {
    for (const answer of [...this.#answers]) {
      answer.cut()
      this.end(answer)
    }
  }
}

/**
 * Waits for work to end, but not longer than a stopping server may wait.
 * @param ms milliseconds; default: `DEFAULT_DRAIN`
 * @returns whether the work has ended in time
 */
export async function endedWithin(work: Promise<unknown>, ms = DEFAULT_DRAIN): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIME), false)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
