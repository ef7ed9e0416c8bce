/**
 * Tracks the events of a partition that are done: events end in any order, and Kafka keeps one position. So the lowest
 * event that is not done is committed, and beside it which events behind it are done, so that those do not run again
 * elsewhere.
 */

/** Characters of what stands beside a position; brokers take 4,096. */
const MOST_WRITTEN = 3_000
const VERSION = '1'

/** Positions of one partition. They are whole numbers below 2 ** 53. */
export class Tracker {
  /** Events that have come and are not done, in order. */
  readonly #open = new Set<number>()
  /** Behind what has come. */
  #end: number
  /** Below it, only what is in `#undone`, in order, is to run: another member has done the rest. */
  readonly #doneUntil: number
  readonly #undone: ReadonlySet<number>
  /** It has changed since it was last written. */
  isDirty = false

  /** @param next the position that is committed @param beside what stands beside it; what is malformed counts as nothing */
  constructor(next: number, beside = '') {
    this.#end = next
    const { span, undone } = readBeside(beside)
    this.#doneUntil = next + span
    this.#undone = new Set(undone.map((distance) => next + distance))
  }

  /** Events that are not done, of those that have come. */
  get open(): number {
    return this.#open.size
  }

  /** Behind what has come. */
  get end(): number {
    return this.#end
  }

  /** The lowest event that is not done: what is committed. */
  get lowest(): number {
    for (const offset of this.#notDone()) return offset
    return this.#known
  }

  /** Behind what is known: what has come, and what another member has said of what comes again. */
  get #known(): number {
    return Math.max(this.#end, this.#doneUntil)
  }

  /** The events that are known as not done, in order. */
  *#notDone(): Generator<number> {
    yield* this.#open
    if (this.#end < this.#doneUntil) for (const offset of this.#undone) if (offset >= this.#end) yield offset
  }

  /** An event has come, behind all others. @returns false: it is done already */
  came(offset: number): boolean {
    this.#end = offset + 1
    if (offset < this.#doneUntil && !this.#undone.has(offset)) {
      this.isDirty = true
      return false
    }
    this.#open.add(offset)
    return true
  }

  /** Nothing comes before this position any more: there may be none between the events of a partition. */
  passed(next: number): void {
    if (next <= this.#end) return
    this.#end = next
    this.isDirty = true
  }

  /** An event is done. */
  done(offset: number): void {
    if (this.#open.delete(offset)) this.isDirty = true
  }

  /**
   * The metadata beside the lowest position: the distance from it up to which events are known, and those before that
   * which are not done.
   */
  get beside(): string {
    const { lowest } = this
    let text = ''
    let before = lowest
    for (const offset of this.#notDone()) {
      if (offset === lowest) continue
      const more = `,${(offset - before).toString(36)}`
      if (text.length + more.length > MOST_WRITTEN) return written(offset - lowest, text)
      text += more
      before = offset
    }
    return this.#known === lowest ? '' : written(this.#known - lowest, text)
  }
}

function written(span: number, undone: string): string {
  return `${VERSION} ${span.toString(36)}${undone}`
}

/** Reads it. */
function readBeside(beside: string): { readonly span: number; readonly undone: readonly number[] } {
  const nothing = { span: 0, undone: [] }
  if (!/^1 [\da-z]{1,10}(,[\da-z]{1,10})*$/.test(beside)) return nothing
  const [span = 0, ...distances] = beside
    .slice(2)
    .split(',')
    .map((digits) => Number.parseInt(digits, 36))
  let at = 0
  // The lowest itself is not done.
  const undone = [0, ...distances.map((distance) => (at += distance))]
  return Number.isSafeInteger(span) && Number.isSafeInteger(at) && at <= span ? { span, undone } : nothing
}
