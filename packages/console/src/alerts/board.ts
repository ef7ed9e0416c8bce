/** Alerts: conditions that last. One comes when its condition has lasted, and goes when it has been over for a while. */
import type { AlertView, PastAlertView } from '../protocol.ts'
import type { Condition } from './conditions.ts'

/** Milliseconds that a condition lasts before it is an alert, and that it is over before the alert is. */
const PATIENCE: Readonly<Record<Condition['kind'], { readonly after: number; readonly until: number }>> = {
  silent: { after: 4_000, until: 3_000 },
  engine: { after: 3_000, until: 3_000 },
  lag: { after: 5_000, until: 20_000 },
  dead: { after: 0, until: 0 },
  errors: { after: 3_000, until: 10_000 },
  outbox: { after: 3_000, until: 10_000 }
}
/** Alerts that are shown, and such that are over. */
const MAX_ALERTS = 200
const MAX_PAST = 50

/** A condition that was there. */
interface Noted {
  readonly condition: Condition
  readonly begun: number
  /** When it was there last. */
  readonly seen: number
  readonly isAlert: boolean
}

/** The alerts of one moment, and those that are over. */
export interface Board {
  readonly noted: ReadonlyMap<string, Noted>
  readonly past: readonly PastAlertView[]
}

/** Nothing is wrong, and nothing was. */
export const NO_ALERTS: Board = { noted: new Map(), past: [] }

/** Goes on by one moment. @param at milliseconds since 1970 */
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

/** The alerts of a board, the oldest first. */
export function alertsOf({ noted }: Board): AlertView[] {
  return [...noted.values()]
    .filter(({ isAlert }) => isAlert)
    .map(({ condition, begun }) => ({ ...condition, since: begun }))
    .sort((a, b) => a.since - b.since)
    .slice(0, MAX_ALERTS)
}
