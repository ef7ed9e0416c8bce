/** Logs the stop of a service: that it begins, and how it ended. */
import type { Logger, TransportStats } from '@elysia-microservices/transport/kit'

/** The stopping service, as the log lines describe it. */
export interface Stopping {
  /** The service's name in log lines. */
  readonly title: string
  /** Milliseconds that work in flight may take. */
  readonly drain: number
  readonly logger: Logger
  stats(): readonly TransportStats[]
}

/** The log lines of one stop. Without a signal and without messages in flight nothing is logged. */
export class StopLines {
  readonly #stopping: Stopping
  readonly #begunAt = performance.now()
  readonly #isSaid: boolean

  /**
   * Logs that the stop begins. @param signal the signal that stops the service; `undefined` if the program has
   * called `stop()`
   */
  constructor(stopping: Stopping, signal: string | undefined) {
    this.#stopping = stopping
    const inFlight = this.#inFlight
    this.#isSaid = signal !== undefined || inFlight > 0
    if (!this.#isSaid) return
    const why = signal === undefined ? '' : `${signal}: `
    stopping.logger.warn(`${why}${stopping.title} stops; messages in flight: ${inFlight}`)
  }

  /**
   * Waits for the stop, and logs how it ended.
   * @param stop stops the service; messages that are in flight after `drain` are cut off
   */
  async until(stop: () => Promise<unknown>): Promise<void> {
    const { title, drain, logger } = this.#stopping
    let cutOff = drain === 0 ? this.#inFlight : 0
    // This timer is set before the timers of the servers, so that it counts the messages in flight before the
    // servers cut them off.
    const look = setTimeout(() => {
      cutOff = this.#inFlight
    }, drain)
    try {
      await stop()
    } finally {
      clearTimeout(look)
      const time = Math.round(performance.now() - this.#begunAt)
      const loss = cutOff === 0 ? '' : `; messages cut off after options.drain (${drain} ms): ${cutOff}`
      if (this.#isSaid || cutOff > 0) logger.warn(`${title} has stopped after ${time} ms${loss}`)
    }
  }

  get #inFlight(): number {
    try {
      return this.#stopping.stats().reduce((sum, { inFlight: { current } }) => sum + current, 0)
    } catch {
      // The figures of a transport cannot be read. The service must stop nevertheless.
      return 0
    }
  }
}
