/** Logs that a service stops: when it begins to, and how that ended. */
import type { Logger, TransportStats } from '@elysia-microservices/transport/kit'

/** The service that stops, as the lines describe it. */
export interface Stopping {
  /** The service in words. */
  readonly title: string
  /** Milliseconds that work in flight may take. */
  readonly drain: number
  readonly logger: Logger
  stats(): readonly TransportStats[]
}

/** The lines of one stop. Without a signal, nothing is said where nothing is in flight. */
export class StopLines {
  readonly #stopping: Stopping
  readonly #begunAt = performance.now()
  readonly #isSaid: boolean

  /** Says that it begins. @param signal what it stops at; `undefined`: the program has asked for it */
  constructor(stopping: Stopping, signal: string | undefined) {
    this.#stopping = stopping
    const inFlight = this.#inFlight
    this.#isSaid = signal !== undefined || inFlight > 0
    if (!this.#isSaid) return
    const why = signal === undefined ? '' : `${signal}: `
    stopping.logger.warn(`${why}${stopping.title} stops; messages in flight: ${inFlight}`)
  }

  /**
   * Waits for the stop, and says how it ended.
   * @param stop begins to stop; what is in flight after `drain` is cut off
   */
  async until(stop: () => Promise<unknown>): Promise<void> {
    const { title, drain, logger } = this.#stopping
    let cutOff = drain === 0 ? this.#inFlight : 0
    // Made before the timers of the servers, so that it fires before them.
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
      // A transport that cannot tell must stop all the same.
      return 0
    }
  }
}
