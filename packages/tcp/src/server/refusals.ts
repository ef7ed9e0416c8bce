/** Logs refused connections without filling the log: each address once a minute, at most 100 addresses. */
import type { Logger } from '@elysia-microservices/transport/kit'

const WINDOW = 60_000
/** Most addresses that are logged and remembered in a minute. */
const MOST = 100

/** Logs refused connections. */
export class Refusals {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #named = new Set<string>()
  #windowEnds = Number.NEGATIVE_INFINITY

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger
    this.#now = now
  }

  /** @param what says what happened to the connection, such as `'was refused: …'` */
  report(remoteAddress: string | undefined, what: string, cause?: Error): void {
    const now = this.#now()
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + WINDOW
      this.#named.clear()
    }
    const address = remoteAddress ?? 'an unnamed peer'
    if (this.#named.size > MOST || this.#named.has(address)) return
    this.#named.add(address)
    if (this.#named.size > MOST)
      this.#logger.warn(
        `More than ${MOST} addresses were refused within a minute; further addresses are not logged`
      )
    else this.#logger.warn(`A connection of ${address} ${what}`, cause)
  }
}
