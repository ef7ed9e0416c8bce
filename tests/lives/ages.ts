/** Events that their store deletes by their age, whether or not all groups have handled them. */
import type { Carrier } from './carrier.ts'
import type { Kept } from './entries.ts'

/** Milliseconds after which events that are too old are deleted: PostgreSQL looks twice a minute. */
export const DELETED_WITHIN = 65_000
/** Milliseconds after the last fault in which an event comes to its handler, also from a process that has died. */
const COMES_WITHIN = 45_000

/** Whether a life may wait at its end until all that it has stored is too old. */
export const isShort = (maxAge: number | undefined): maxAge is number => (maxAge ?? Infinity) < 100_000

/** A line of the log with the number of events that a group will never have. */
const TOLD = /^(\d+) events '(\w+)' that the group '([\w-]+)' had not (?:handled|got) were deleted/

const TOLD_OF_ONE = /^An event '(\w+)' that was not handled was deleted/

/** The losses that the events of a life may have by their age, as far as its steps decide. */
export interface Circumstances {
  /** Whether nothing has kept any group from its events. */
  readonly isSteady: boolean
  /** Whether processes, connections or the store were lost, so that lines of the log and acknowledgements may lack. */
  readonly hasLoss: boolean
  /** Whether each deletion of an event that a group had not taken is told once. */
  readonly tellsAll: boolean
  /** Whether the second group begins late, so that it misses what is deleted before. */
  readonly isLate: boolean
}

/** A ledger, as far as ages need it. */
interface Audited {
  readonly groups: readonly string[]
  readonly published: ReadonlyMap<string, Kept>
  readonly emitted: ReadonlyMap<string, Kept>
  breaks(promise: string): void
}

export class Ages {
  /** Milliseconds for which events are kept; `undefined`: longer than a life. */
  readonly most: number | undefined
  /** The number of deleted events that the log tells, by group and pattern. */
  readonly #told = new Map<string, number>()
  /** Patterns of which the log tells of events that a process had taken, with a line for several. */
  readonly #toldOf = new Set<string>()
  /** When the last fault was over, in the world's time; `Infinity`: events may be missed until the end. */
  calmFrom = 0

  constructor(most: number | undefined) {
    this.most = most
  }

  logged(line: string): void {
    const [, one] = TOLD_OF_ONE.exec(line) ?? []
    if (one !== undefined) this.#toldOf.add(one)
    const [, count, pattern, group] = TOLD.exec(line) ?? []
    if (count === undefined) return
    const name = `${group} ${pattern}`
    this.#told.set(name, (this.#told.get(name) ?? 0) + Number(count))
  }

  /** Whether the store need not have an event any more that no handler of a group has begun. */
  isOver(group: string, { since, begun }: Kept): boolean {
    return (
      this.most !== undefined && !begun.has(group) && performance.now() > since + this.most + DELETED_WITHIN
    )
  }

  /** Whether an event that was stored has perhaps become too old before a group could handle it. */
  mayMiss({ since, pattern }: Kept, { isSteady }: Circumstances): boolean {
    return (
      this.most !== undefined &&
      pattern !== 'noted' &&
      !isSteady &&
      since + this.most <= this.calmFrom + COMES_WITHIN
    )
  }

  /** Checks that the log tells of each event that was deleted before it was handled, and of no other. */
  audit(ledger: Audited, { hasLoss, tellsAll, isLate }: Circumstances): void {
    if (this.most === undefined || hasLoss || !tellsAll) return
    const { groups, published, emitted } = ledger
    const all = [...published.values()]
    const others = new Set([...emitted.values()].map(({ pattern }) => pattern))
    for (const group of groups)
      for (const pattern of ['kept', 'filed']) {
        const told = this.#told.get(`${group} ${pattern}`) ?? 0
        const missed = all.filter((kept) => kept.pattern === pattern && !kept.done.has(group))
        // Of an event that was emitted there may be several copies.
        if (told > missed.length && !others.has(pattern))
          ledger.breaks(
            `the log tells ${group} of ${told} events '${pattern}' that were deleted, and it lacks ${missed.length}`
          )
        const untaken = missed.filter(
          ({ begun, isPromised, isCancelled }) => isPromised && isCancelled === false && !begun.has(group)
        )
        if (!this.#toldOf.has(pattern) && !(isLate && group === groups[1]) && told < untaken.length)
          ledger.breaks(
            `${untaken.length} events '${pattern}' never came to ${group}, such as ${untaken[0]?.what}, and the log tells of ${told} that were deleted`
          )
      }
  }

  /** Checks that nothing is kept for much longer than its age. */
  async auditStored(ledger: Audited, { old }: Pick<Carrier, 'old'>): Promise<void> {
    if (this.most === undefined) return
    const count = (await old?.(this.most + DELETED_WITHIN)) ?? 0
    if (count > 0) ledger.breaks(`${count} events are stored that are much older than ${this.most} ms`)
  }
}
