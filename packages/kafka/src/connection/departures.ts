/** Kafka does not tell who reads: a caller that closes says so to all services, which know here what it had asked. */

/** Answers that are remembered with their callers; the one that was begun longest ago is forgotten first. */
const MOST_ANSWERS = 4_096
/** Callers that are remembered as gone. */
const MOST_GONE = 1_024

/** Callers that may go, and those that have. */
export class Departures {
  readonly #tell: (reply: string) => void
  /** Where the service hears of an answer, by the address of its caller. */
  readonly #answers = new Map<string, string>()
  readonly #gone = new Set<string>()

  /** @param tell is given where the service hears of an answer whose caller has gone */
  constructor(tell: (reply: string) => void) {
    this.#tell = tell
  }

  /** Something is said to a caller. @returns false: it has gone */
  expect(address: string, reply: string): boolean {
    if (this.#gone.size > 0 && this.#gone.has(inboxIn(address))) return false
    this.#answers.delete(address)
    this.#answers.set(address, reply)
    if (this.#answers.size > MOST_ANSWERS) this.#answers.delete(firstOf(this.#answers.keys()))
    return true
  }

  /** A caller has gone. @param inbox with the dot behind it */
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
