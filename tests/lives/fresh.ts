/** Groups that get nothing of what was stored before they began. */
import type { Kept } from './entries.ts'

/** One group that begins with new events. */
interface Fresh {
  /** Events that were stored before it began. */
  readonly before: Set<Kept>
  /** Events of which nobody can tell whether they were stored before or after it began. */
  readonly perhaps: Set<Kept>
  hasStarted: boolean
}

export class FreshGroups {
  readonly #groups = new Map<string, Fresh>()

  /** A group begins to start, for the first time. @param published all events so far */
  startsWithNew(group: string, published: Iterable<Kept>): void {
    if (this.#groups.has(group)) return
    const all = [...published]
    // An event of the future is stored again when its time has come.
    const before = new Set(all.filter(({ isPromised, due }) => isPromised && due === undefined))
    const perhaps = new Set(all.filter((kept) => !before.has(kept)))
    this.#groups.set(group, { before, perhaps, hasStarted: false })
  }

  /** The start of a group has ended: it gets all that follows. */
  hasStarted(group: string): void {
    const fresh = this.#groups.get(group)
    if (fresh !== undefined) fresh.hasStarted = true
  }

  /** An event is being published. */
  keeps(kept: Kept): void {
    for (const { perhaps, hasStarted } of this.#groups.values()) if (!hasStarted) perhaps.add(kept)
  }

  /** Whether an event was stored before the group began, so that the group must not get it. */
  isBefore(group: string, kept: Kept): boolean {
    return this.#groups.get(group)?.before.has(kept) === true
  }

  /** Whether a group need not handle an event. */
  mayMiss(group: string, kept: Kept): boolean {
    const fresh = this.#groups.get(group)
    return fresh !== undefined && (fresh.before.has(kept) || fresh.perhaps.has(kept))
  }
}
