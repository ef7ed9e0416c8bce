/**
 * How a server ends a connection without losing a request: it announces the end, waits for the answer to a PING, so that
 * every request that was sent before the client knew has arrived, and then says which one is the last. RFC 9113,
 * section 6.8.
 */
import { ErrorCode } from './error-code.ts'
import { MAX_UINT31 } from './frame-type.ts'
import { writeGoAway } from './frames.ts'
import type { Wire } from './wire.ts'

/** Drains one connection of a server. */
export class Drain {
  readonly #wire: Wire
  #state: 'not begun' | 'announced' | 'last stream is known' | 'over' = 'not begun'
  #reason = ''

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** Whether the client knows, or will know, that the connection ends. */
  get hasBegun(): boolean {
    return this.#state !== 'not begun'
  }

  /** Announces the end. @param ping sends a PING, and calls its argument with the answer */
  begin(reason: string, ping: (answered: () => void) => void): void {
    if (this.hasBegun) return
    this.#state = 'announced'
    this.#reason = reason
    writeGoAway(this.#wire.bytes, MAX_UINT31, ErrorCode.NO_ERROR, reason)
    ping(() => this.#sayLast())
  }

  /** Whether the client was told the last stream that is handled: later ones are ignored. */
  get isBeyond(): boolean {
    return this.#state === 'last stream is known' || this.#state === 'over'
  }

  /** A stream has ended: ends the connection when nothing is open. */
  settled(): void {
    if (this.#state !== 'last stream is known' || this.#wire.streams.size > 0) return
    this.#state = 'over'
    this.#wire.isEnded = true
    this.#wire.output?.end()
  }

  #sayLast(): void {
    if (this.#state !== 'announced') return
    this.#state = 'last stream is known'
    writeGoAway(this.#wire.bytes, this.#wire.streams.lastHandled, ErrorCode.NO_ERROR, this.#reason)
    this.#wire.committed()
    this.settled()
  }
}
