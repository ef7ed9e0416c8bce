/**
 * The times of a recurring event in a store: only the next one waits there. Its id has the rule and the time. So it is
 * stored once, also if several processes put it there, and the process that gets it knows the one behind it.
 */
import type { MessageHeaders } from '../headers.ts'
import { mustBe } from '../options.ts'
import type { Pattern } from '../pattern.ts'
import { GROUPS } from './directed.ts'
import type { Recurrence } from './options.ts'
import type { DurableCaller } from './published.ts'

/** Returns the first time of a rule after another time; `undefined`: there is none. */
export type NextTime = (rule: Recurrence, after: Date) => Promise<Date | undefined>

/** An event that recurs. */
export interface Schedule {
  /** The beginning of the ids of its events, whatever the rule is: see `ownerOf`. */
  readonly owner: string
  readonly every: Recurrence
  readonly pattern: Pattern
  /** Makes the data. @param due the time as text */
  dataOf(due: string): unknown
  readonly key?: string | undefined
  readonly headers?: MessageHeaders | undefined
  /** The groups that get the event. Default: all. */
  readonly groups?: readonly string[] | undefined
}

/** The one to whom the times belong: the handlers of a group (`every`), or a schedule of a client. */
export function ownerOf(kind: 'every' | 'schedule', name: string): string {
  return `${kind} ${name}: `
}

/** The beginning of the ids of the events of one rule; the time follows. */
export function prefixOf({ owner, every }: Pick<Schedule, 'owner' | 'every'>): string {
  return `${owner}${every.cron} ${every.timeZone ?? ''}@`
}

const SCHEDULED = /^(schedule [^\s:@]+: )(.+) (\S*)@(\S+)$/

/** Reads the id of an event of a client's schedule; `undefined`: it is another event. */
export function readScheduled(
  id: string
): { readonly owner: string; readonly every: Recurrence; readonly due: number } | undefined {
  const [, owner, cron, timeZone, due] = SCHEDULED.exec(id) ?? []
  if (owner === undefined || cron === undefined || due === undefined) return undefined
  return { owner, every: { cron, ...(timeZone !== '' && { timeZone }) }, due: Date.parse(due) }
}

/** The names that a schedule of a client may have. */
export const checkScheduleName = /* @__PURE__ */ mustBe(
  "a text of 1 to 128 characters without blanks, ':' and '@'",
  (value) => typeof value === 'string' && /^[^\s:@]{1,128}$/.test(value)
)

/** Puts the next event of a rule into the store. @param after milliseconds since 1970 */
export async function planNext(
  store: DurableCaller,
  schedule: Schedule,
  next: NextTime,
  after: number
): Promise<Date | undefined> {
  const { pattern, every, key, headers, groups } = schedule
  const at = await next(every, new Date(after))
  if (at === undefined) return undefined
  const due = at.toISOString()
  const id = `${prefixOf(schedule)}${due}`
  await store.publish(pattern, schedule.dataOf(due), { id, at, key, headers, [GROUPS]: groups })
  return at
}

/**
 * Deletes events that wait.
 * @param kept the beginning of the ids of those that stay. Default: none stays
 * @returns whether one was still waiting
 */
export async function dropPlanned(
  store: DurableCaller,
  { pattern, owner }: Pick<Schedule, 'pattern' | 'owner'>,
  kept?: string
): Promise<boolean> {
  let isDropped = false
  for await (const { id } of store.future?.list({ pattern }) ?? [])
    if (id.startsWith(owner) && !(kept !== undefined && id.startsWith(kept)))
      isDropped = (await store.future?.cancel(pattern, id)) === true || isDropped
  return isDropped
}
