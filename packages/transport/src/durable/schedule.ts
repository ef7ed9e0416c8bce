/**
 * The times of a recurring event in a store: only the next one waits there. Its id has the rule and the time. So it is
 * stored once, also if several processes put it there, and the process that gets it knows the one behind it.
 */
import type { MessageHeaders } from '../headers.ts'
import { mustBe } from '../options.ts'
import type { Pattern } from '../pattern.ts'
import { nextTime } from './cron.ts'
import { GROUPS } from './directed.ts'
import type { Recurrence } from './options.ts'
import type { DurableCaller } from './published.ts'

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

const PLANNED = /^((every|schedule) (\S+): )(.+) (\S*)@(\S+)$/

/** An event that recurs, as its id tells. */
export interface Planned {
  /** Whether the handlers of a group have the rule (`every`), or a schedule of a client has. */
  readonly kind: 'every' | 'schedule'
  /** The name of the group or of the schedule. */
  readonly name: string
  readonly owner: string
  readonly every: Recurrence
  /** Its time in milliseconds since 1970. */
  readonly due: number
}

/** Reads the id of an event that recurs; `undefined`: it is another event. */
export function readPlanned(id: string): Planned | undefined {
  const [, owner, kind, name, cron, timeZone, due] = PLANNED.exec(id) ?? []
  if (owner === undefined || name === undefined || cron === undefined || due === undefined) return undefined
  const every = { cron, ...(timeZone !== '' && { timeZone }) }
  return { kind: kind === 'every' ? 'every' : 'schedule', name, owner, every, due: Date.parse(due) }
}

/** The rule of an event that recurs, in words; `undefined`: the event does not recur. */
export function ruleOf(id: string): string | undefined {
  const planned = readPlanned(id)
  if (planned === undefined) return undefined
  const { kind, name, every } = planned
  const zone = every.timeZone === undefined ? '' : ` in ${every.timeZone}`
  return `${every.cron}${zone}, ${kind === 'every' ? 'of the group' : 'schedule'} ${name}`
}

/** The names that a schedule of a client may have. */
export const checkScheduleName = /* @__PURE__ */ mustBe(
  "a text of 1 to 128 characters without blanks, ':' and '@'",
  (value) => typeof value === 'string' && /^[^\s:@]{1,128}$/.test(value)
)

/**
 * Puts the next event of a rule into the store. It is the next one by the clock of the store, so that no time comes again
 * if the clock of this process is behind it, and none is left out if it is ahead.
 * @param options.passed the time of the event that has come, in milliseconds since 1970
 * @param options.timeout milliseconds within which the store must have it. Default: that of the client
 */
export async function planNext(
  store: DurableCaller,
  schedule: Schedule,
  { passed = 0, timeout }: { readonly passed?: number; readonly timeout?: number } = {}
): Promise<Date | undefined> {
  const { pattern, every, key, headers, groups } = schedule
  const now = (await store.future?.now()) ?? 0
  const at = await nextTime(every, new Date(Math.max(passed, Math.floor(now))))
  if (at === undefined) return undefined
  const due = at.toISOString()
  const id = `${prefixOf(schedule)}${due}`
  await store.publish(pattern, schedule.dataOf(due), { id, at, key, headers, timeout, [GROUPS]: groups })
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
