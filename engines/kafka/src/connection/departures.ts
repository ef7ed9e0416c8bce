/**
 * Kafka does not say who reads a topic. So a caller that closes publishes a message to all services, and each service
 * finds here which answers it was sending to that caller.
 */

/**
 * Answers that are remembered together with their callers; beyond this number, the answer that was begun first is
 * forgotten.
 */
const MOST_ANSWERS = 4_096
/** Callers that are remembered as closed. */
const MOST_GONE = 1_024

/** The callers that wait for answers, and the callers that have closed. */
export class Departures {
  readonly #tell: (reply: string) => void
  /** The control address of each answer, by the address of its caller. */
  readonly #answers = new Map<string, string>()
  readonly #gone = new Set<string>()

  /** @param tell is called with the control address of an answer whose caller has closed */
  constructor(tell: (reply: string) => void) {
    this.#tell = tell
  }

  /** Remembers an answer that is sent to a caller. @returns false: the caller has closed */
  expect(address: string, reply: string): boolean {
    if (this.#gone.size > 0 && this.#gone.has(inboxIn(address))) return false
    this.#answers.delete(address)
    this.#answers.set(address, reply)
    if (this.#answers.size > MOST_ANSWERS) this.#answers.delete(firstOf(this.#answers.keys()))
    return true
  }

  /** Handles the message that a caller has closed. @param inbox the inbox of the caller, with the dot at its end */
  gone(inbox: string): void {
    this.#gone.add(inbox)
    if (this.#gone.size > MOST_GONE) this.#gone.delete(firstOf(this.#gone.keys()))
    for (const [address, reply] of this.#answers) {
      if (!address.startsWith(inbox)) continue
      this.#answers.delete(address)
      this.#tell(reply)
    }
  }
}

function inboxIn(address: string): string {
  return address.slice(0, address.indexOf('.', address.lastIndexOf('/')) + 1)
}

function firstOf(keys: IterableIterator<string>): string {
  return keys.next().value ?? ''
}
