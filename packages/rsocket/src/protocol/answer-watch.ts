/**
 * Notices a server that does not answer: SETUP, RESUME, or a check after a call has timed out while nothing arrived. The
 * keepalive's lifetime would notice it much later.
 */
import type { Timer } from '@elysia-microservices/transport/kit'

/** A server on Nest's wire waits for the end of what it takes for a packet, and never answers. */
export const NEST_HINT = "if it speaks Nest's wire, the client needs protocol: 'nest'"

/** Watches one connection of a client. */
export class AnswerWatch {
  readonly #timeout: number
  readonly #timer: Timer
  /** Time until which the server must answer; `undefined`: no answer is due. */
  #until: number | undefined
  /** The server has sent something, so it has accepted the connection. */
  isAccepted = false

  /** @param timeout milliseconds in which the server must answer */
  constructor(timeout: number, timer: Timer) {
    this.#timeout = timeout
    this.#timer = timer
  }

  /** Whether an answer is due. */
  get isWaiting(): boolean {
    return this.#until !== undefined
  }

  /** The server was asked, and must answer in time. */
  expect(): void {
    this.#until = this.#timer.now() + this.#timeout
    this.#timer.wakeAt(this.#until)
  }

  /**
   * The server has sent something.
   * @param isAnswer false while the server has not agreed to resume
   */
  heard(isAnswer: boolean): void {
    this.isAccepted = true
    if (isAnswer) this.#until = undefined
  }

  /** The timer has fired. Returns the error if the server has not answered in time. */
  wake(now: number): Error | undefined {
    if (this.#until === undefined) return undefined
    if (now < this.#until) {
      this.#timer.wakeAt(this.#until)
      return undefined
    }
    this.#until = undefined
    const hint = this.isAccepted ? '' : `; ${NEST_HINT}`
    return new Error(`the server has sent nothing for options.connectTimeout (${this.#timeout} ms)${hint}`)
  }
}

/**
 * Makes the watch of a connection.
 * @param timeout milliseconds in which the server must answer
 */
export function answersWithin(timeout: number): (timer: Timer) => AnswerWatch {
  return (timer) => new AnswerWatch(timeout, timer)
}
