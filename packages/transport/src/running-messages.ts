/** The messages that a server handles at the moment, and the end of them when it stops: the same for every transport. */
import type { Dispatcher } from './dispatcher.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { LONGEST_TIME } from './options.ts'
import { reportEvent } from './report-event.ts'

/** Milliseconds that work in flight may take when a server stops, unless `StopOptions.drain` says otherwise. */
export const DEFAULT_DRAIN = 10_000

/** The answer to a message, while its handler runs. */
export interface RunningAnswer {
  /** The server does not wait any longer: ends the answer, and tells its caller. */
  cut(): void
}

/** Counts what is in flight, and ends it. */
export class RunningMessages {
  readonly #answers = new Set<RunningAnswer>()
  readonly #streams = new Set<RunningAnswer>()
  #events = 0
  /** Resolves the promise of `drained`. */
  #settled: (() => void) | undefined

  /** Requests, streams and events that have begun and not ended. */
  get inFlight(): number {
    return this.#answers.size + this.#events
  }

  /** Streams among them. */
  get streams(): number {
    return this.#streams.size
  }

  /** An answer has begun. It says when it ends, by `end`. */
  begin(answer: RunningAnswer, isStream: boolean): void {
    this.#answers.add(answer)
    if (isStream) this.#streams.add(answer)
  }

  /** An answer has ended. More than once does no harm. */
  end(answer: RunningAnswer): void {
    this.#answers.delete(answer)
    this.#streams.delete(answer)
    this.#ended()
  }

  /**
   * Has an event handled; failures are only logged. Never throws.
   * @param ended is called once, when all its handlers have ended
   * @returns whether they ended in this turn
   */
  event(
    dispatcher: Pick<Dispatcher, 'event'>,
    message: IncomingMessage,
    logger: Logger,
    ended: () => void = () => {}
  ): boolean {
    this.#events++
    return reportEvent(dispatcher, message, logger, () => {
      this.#events--
      ended()
      this.#ended()
    })
  }

  #ended(): void {
    if (this.#settled !== undefined && this.inFlight === 0) this.#settled()
  }

  /**
   * Waits for what is in flight, and cuts it when its time is over; handlers of events, which nobody waits for, are left
   * alone then. Nothing new may begin once `before` has settled.
   * @param ms milliseconds; default: `DEFAULT_DRAIN`
   * @param before what has to end too, such as taking messages. How it ends does not matter
   * @returns whether all has ended in time
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
 * Waits for work to end, but not longer than a server that stops may wait.
 * @param ms milliseconds; default: `DEFAULT_DRAIN`
 * @returns whether it has ended in time
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
