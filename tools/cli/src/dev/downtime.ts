/** Notes which programs are down, and counts the errors of the others meanwhile, which are not all printed. */

/** Matches what differs between errors of one kind: numbers and ids. */
const DIFFERENT = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{8,}|\d+/gi
/** Fewer lines than this are not worth a line that says how many there were. */
const WORTH_SAYING = 5

/** The programs that are down. */
export class Downtime {
  /** Each with what its name looks like in the errors of others. */
  readonly #down = new Map<string, RegExp>()
  /** All programs that were down since all were up. */
  readonly #were = new Set<string>()
  readonly #seen = new Set<string>()
  readonly #counts = new Map<string, number>()
  readonly #say: (text: string) => void

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /**
   * Notes that a program has ended.
   * @param named matches errors that name the program: whatever they say of it, it is the same news
   */
  down(name: string, named: RegExp): void {
    this.#down.set(name, named)
    this.#were.add(name)
  }

  /** Notes that a program is ready, or is not wanted any more. */
  up(name: string): void {
    if (!this.#down.delete(name) || this.#down.size > 0) return
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
    if (all >= WORTH_SAYING) {
      const were = [...this.#were]
      const each = [...this.#counts].map(([caller, count]) => `${caller}: ${count}`)
      this.#say(
        `${all} more such lines were not printed while ${were.join(' and ')} ${were.length === 1 ? 'was' : 'were'} down (${each.join(', ')})`
      )
    }
    this.#were.clear()
    this.#seen.clear()
    this.#counts.clear()
  }

  /** Whether a program other than this one is down. */
  isOver(name: string): boolean {
    return this.#down.size > (this.#down.has(name) ? 1 : 0)
  }

  /**
   * Whether no service has printed this error since a program is down, nor another one that names that program. Numbers
   * and ids in it do not count.
   */
  isNew(name: string, error: string): boolean {
    const [about] = [...this.#down].find(([, named]) => named.test(error)) ?? []
    const key = about === undefined ? error.replace(DIFFERENT, '#') : `down ${about}`
    if (!this.#seen.has(key)) {
      this.#seen.add(key)
      return true
    }
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    return false
  }
}
