/**
 * Tells how often the handler of an event may have begun. JetStream counts only deliveries, and an ordered event that
 * waits for an earlier one of its key is delivered again with each process that starts. Such an event has never begun:
 * nobody begins it before the earlier one is done. When it begins at last, these deliveries must not count, also in
 * the next process. Nor must those, of any event, to a process that stopped before it began it. So the number of
 * deliveries before the first run is stored, in the metadata of the group's consumer.
 */
import type { NatsEvent } from './event.ts'

/** Most characters of the metadata; NATS accepts 128 KiB for all metadata of a consumer. */
const MOST_WRITTEN = 64 * 1024

export interface RunsOwner {
  /** Whether an event with this key is here that comes first. */
  isBehind(event: NatsEvent): boolean
  /** Stores the text with the group's consumer. */
  store(text: string): Promise<void>
}

/** The runs of the events of one handler. */
export class Runs {
  readonly #owner: RunsOwner
  /**
   * By number of an event: its deliveries that were no runs, as the server has stored them; negative if there were more
   * runs than deliveries.
   */
  #stored = new Map<number, number>()
  /** The same for events that wait here, not stored yet. */
  readonly #waiting = new Map<number, number>()
  #storing: Promise<void> | undefined
  #isSoon = false

  constructor(owner: RunsOwner) {
    this.#owner = owner
  }

  /** Takes over what the server has stored. @param done all events up to this number are done */
  load(text: string | undefined, done: number): void {
    this.#stored = new Map(readRuns(text).filter(([sequence]) => sequence > done))
    for (const [sequence] of this.#waiting) if (sequence <= done) this.#waiting.delete(sequence)
  }

  /** Corrects the attempt of an event that is about to go to the worker. */
  came(event: NatsEvent): void {
    const { sequence } = event.place
    if (event.hasBegun || event.deliveries === 1) return
    if (this.#owner.isBehind(event)) {
      this.#waiting.set(sequence, event.deliveries - 1)
      this.#storeSoon()
    }
    const before = this.#waiting.get(sequence) ?? this.#stored.get(sequence) ?? 0
    // Further deliveries of an event that waits here are no runs, either.
    event.attempt = Math.max(1, event.place.deliveries - before)
  }

  /** Notes that an event begins. @returns resolves when its handler may run; `undefined`: at once */
  begins(event: NatsEvent): Promise<void> | undefined {
    const { hasBegun, deliveries } = event
    const { sequence } = event.place
    event.hasBegun = true
    if (hasBegun || !this.#waiting.has(sequence)) return undefined
    // While it waited here, it may have been delivered again.
    this.#waiting.set(sequence, deliveries - 1)
    return this.#isStored(sequence) ? undefined : this.#store(sequence)
  }

  /**
   * The process ends, and these events go to another one. Some have never begun here, and an ordered event may have run
   * here several times after one delivery. @returns resolves when it is stored how many of their deliveries were no
   * runs, or cannot be
   */
  async leave(events: readonly NatsEvent[]): Promise<void> {
    let unstored: number | undefined
    for (const { place, deliveries, attempt, hasBegun } of events) {
      const { sequence } = place
      const before = deliveries - (hasBegun ? attempt : attempt - 1)
      if (before === (this.#stored.get(sequence) ?? 0)) continue
      this.#waiting.set(sequence, before)
      unstored = sequence
    }
    if (unstored !== undefined) await this.#store(unstored)
  }

  /** An event goes to another process. */
  left({ place: { sequence } }: NatsEvent): void {
    this.#waiting.delete(sequence)
  }

  done(event: NatsEvent): void {
    this.left(event)
    this.#stored.delete(event.place.sequence)
  }

  #isStored(sequence: number): boolean {
    return this.#stored.get(sequence) === this.#waiting.get(sequence)
  }

  /** Stores the deliveries of the events that wait, if their process is killed before they begin. */
  #storeSoon(): void {
    if (this.#isSoon) return
    this.#isSoon = true
    setImmediate(() => {
      this.#isSoon = false
      const [first] = [...this.#waiting.keys()].filter((sequence) => !this.#isStored(sequence))
      if (first !== undefined) void this.#store(first)
    })
  }

  /**
   * Stores the deliveries of all events that wait, so that the others need not be stored when they begin. If this
   * fails, the deliveries count as runs in the next process.
   */
  async #store(sequence: number): Promise<void> {
    // The deliveries that are being stored may lack this event.
    await this.#storing
    if (this.#isStored(sequence)) return
    const all = new Map([...this.#stored, ...this.#waiting])
    this.#storing = this.#owner
      .store(writeRuns(all))
      .then(() => {
        for (const [one, before] of this.#waiting) if (all.get(one) === before) this.#stored.set(one, before)
      })
      .catch(() => {})
      .finally(() => {
        this.#storing = undefined
      })
    await this.#storing
  }
}

export function writeRuns(runs: ReadonlyMap<number, number>): string {
  // If there is no room for all, those that have waited longest are kept.
  const all = [...runs].sort(([, one], [, other]) => other - one)
  let text = ''
  for (const [sequence, before] of all) {
    const more = `${sequence.toString(36)}:${before.toString(36)},`
    if (text.length + more.length > MOST_WRITTEN) break
    text += more
  }
  return text
}

/** Reads what `writeRuns` has written; anything else counts as nothing. */
export function readRuns(text = ''): (readonly [sequence: number, before: number])[] {
  return [...text.matchAll(/([\da-z]{1,11}):(-?[\da-z]{1,6}),/g)].map(([, sequence = '', before = '']) => [
    Number.parseInt(sequence, 36),
    Number.parseInt(before, 36)
  ])
}
