/**
 * Alerts: conditions that last for some time. An alert begins when its condition has lasted for a while, and ends
 * when the condition has been over for a while.
 */
import type { AlertView, PastAlertView } from '../protocol.ts'
import type { Condition } from './conditions.ts'

/**
 * How many milliseconds a condition must last before it becomes an alert (`after`), and must be over before the
 * alert ends (`until`).
 */
const PATIENCE: Readonly<Record<Condition['kind'], { readonly after: number; readonly until: number }>> = {
  silent: { after: 4_000, until: 3_000 },
  engine: { after: 3_000, until: 3_000 },
  lag: { after: 5_000, until: 20_000 },
  dead: { after: 0, until: 0 },
  errors: { after: 3_000, until: 10_000 },
  outbox: { after: 3_000, until: 10_000 }
}
/** Largest number of current alerts, and of past alerts. */
const MAX_ALERTS = 200
const MAX_PAST = 50

/** A condition that was seen. */
interface Noted {
  readonly condition: Condition
  readonly begun: number
  /** The last time at which the condition was seen. */
  readonly seen: number
  readonly isAlert: boolean
}

/** The state at one moment: the conditions that were seen, and past alerts. */
export interface Board {
  readonly noted: ReadonlyMap<string, Noted>
  readonly past: readonly PastAlertView[]
}

/** The initial state: no conditions and no past alerts. */
export const NO_ALERTS: Board = { noted: new Map(), past: [] }

/** Computes the state of the next moment. @param at milliseconds since 1970 */
export function nextBoard({ noted, past }: Board, conditions: readonly Condition[], at: number): Board {
  const present = new Map(conditions.slice(0, MAX_ALERTS).map((each) => [each.key, each]))
  const next = new Map<string, Noted>()
  const over: PastAlertView[] = []
  for (const [key, condition] of present) {
    const known = noted.get(key)
    const begun = known?.begun ?? at
    const isAlert = known?.isAlert === true || at - begun >= PATIENCE[condition.kind].after
    next.set(key, { condition, begun, seen: at, isAlert })
  }
  for (const [key, known] of noted) {
    if (next.has(key) || !known.isAlert) continue
    if (at - known.seen >= PATIENCE[known.condition.kind].until)
      over.push({ ...known.condition, since: known.begun, until: known.seen })
    else next.set(key, known)
  }
  return { noted: next, past: over.length === 0 ? past : [...over, ...past].slice(0, MAX_PAST) }
}

/** The current alerts, the oldest first. */
export function alertsOf({ noted }: Board): AlertView[] {
  return [...noted.values()]
    .filter(({ isAlert }) => isAlert)
    .map(({ condition, begun }) => ({ ...condition, since: begun }))
    .sort((a, b) => a.since - b.since)
    .slice(0, MAX_ALERTS)
}
