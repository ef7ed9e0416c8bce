/**
 * Tracks which events of a partition are done. Events end in any order, but Kafka keeps one position for a partition.
 * So the offset of the lowest event that is not done is committed, and the metadata of the commit lists which later
 * events are done: another member does not run these again. It also says how often the others have failed: another
 * member counts their attempts from there.
 */

/** Characters of the metadata of a commit; brokers accept 4,096. */
const MOST_WRITTEN = 3_000
const VERSION = '1'

/** The events of one partition. Their offsets are whole numbers below 2 ** 53. */
export class Tracker {
  /** The offsets of events that have arrived and are not done, in order. */
  readonly #open = new Set<number>()
  /** The offset behind the last event that has arrived. */
  #end: number
  /** Below this offset, only the events in `#undone` are to run, in order: another member has done the others. */
  readonly #doneUntil: number
  readonly #undone: ReadonlySet<number>
  /** Attempts that have failed, by the offset of the event; of events that are not done. */
  readonly #failed: Map<number, number>
  /** Whether anything has changed since the last commit. */
  isDirty = false

  /** @param next the committed position @param beside the metadata of the commit; malformed metadata is ignored */
  constructor(next: number, beside = '') {
    this.#end = next
    const { span, undone } = readBeside(beside)
    this.#doneUntil = next + span
    this.#undone = new Set(undone.map(({ distance }) => next + distance))
    this.#failed = new Map(
      undone.filter(({ failed }) => failed > 0).map(({ distance, failed }) => [next + distance, failed])
    )
  }

  /** The number of events that have arrived and are not done. */
  get open(): number {
    return this.#open.size
  }

  /** The offset behind the last event that has arrived. */
  get end(): number {
    return this.#end
  }

  /** The position to commit: the lowest event that is not done. */
  get lowest(): number {
    for (const offset of this.#notDone()) return offset
    return this.#known
  }

  /**
   * The offset up to which it is known which events are done: from the events that have arrived here, and from what
   * another member has committed.
   */
  get #known(): number {
    return Math.max(this.#end, this.#doneUntil)
  }

  /** The offsets of events that are known not to be done, in order. */
  *#notDone(): Generator<number> {
    yield* this.#open
    if (this.#end < this.#doneUntil) for (const offset of this.#undone) if (offset >= this.#end) yield offset
  }

  /**
   * Notes that an event has arrived, with a higher offset than all before. @returns false: the event is done already
   */
  came(offset: number): boolean {
    this.#end = offset + 1
    if (offset < this.#doneUntil && !this.#undone.has(offset)) {
      this.isDirty = true
      return false
    }
    this.#open.add(offset)
    return true
  }

  /** Notes that no event below this position arrives any more. The offsets of a partition may have gaps. */
  passed(next: number): void {
    if (next <= this.#end) return
    this.#end = next
    this.isDirty = true
  }

  /** Notes that an event is done. */
  done(offset: number): void {
    if (!this.#open.delete(offset)) return
    this.#failed.delete(offset)
    this.isDirty = true
  }

  /** Notes that an event has failed, this often by now. */
  failed(offset: number, attempts: number): void {
    if (!this.#open.has(offset)) return
    this.#failed.set(offset, attempts)
    this.isDirty = true
  }

  /** How often an event has failed, in this process or before. */
  failures(offset: number): number {
    return this.#failed.get(offset) ?? 0
  }

  /**
   * The metadata of the commit: how far behind the lowest position it is known which events are done, and the
   * distances to the events in between that are not done. Each number may be followed by `*` and how often the event
   * has failed, the first one by that of the event at the lowest position.
   */
  get beside(): string {
    const { lowest } = this
    let text = this.#timesFailed(lowest)
    let before = lowest
    for (const offset of this.#notDone()) {
      if (offset === lowest) continue
      const more = `,${(offset - before).toString(36)}${this.#timesFailed(offset)}`
      if (text.length + more.length > MOST_WRITTEN) return written(offset - lowest, text)
      text += more
      before = offset
    }
    return this.#known === lowest ? '' : written(this.#known - lowest, text)
  }

  #timesFailed(offset: number): string {
    const failed = this.#failed.get(offset)
    return failed === undefined ? '' : `*${failed.toString(36)}`
  }
}

function written(span: number, undone: string): string {
  return `${VERSION} ${span.toString(36)}${undone}`
}

/** An event that is not done: its distance to the lowest position, and how often it has failed. */
interface Undone {
  readonly distance: number
  readonly failed: number
}

const BESIDE = /^1 [\da-z]{1,10}(\*[\da-z]{1,4})?(,[\da-z]{1,10}(\*[\da-z]{1,4})?)*$/

/** Reads the metadata of a commit. */
function readBeside(beside: string): { readonly span: number; readonly undone: readonly Undone[] } {
  const nothing = { span: 0, undone: [] }
  if (!BESIDE.test(beside)) return nothing
  const [first = [], ...others] = beside
    .slice(2)
    .split(',')
    .map((one) => one.split('*').map((digits) => Number.parseInt(digits, 36)))
  const [span = 0, failed = 0] = first
  let at = 0
  // The event at the lowest position itself is not done.
  const undone = [{ distance: 0, failed }]
  for (const [distance = 0, failed = 0] of others) {
    at += distance
    undone.push({ distance: at, failed })
  }
  return Number.isSafeInteger(span) && Number.isSafeInteger(at) && at <= span ? { span, undone } : nothing
}
