/** Options of a handler of durable events. They are the same for every engine. */
import { OptionError } from '../errors/index.ts'
import {
  checkNames,
  LONGEST_TIME,
  mustBe,
  mustBeAtLeast,
  mustBeBoolean,
  mustBeMilliseconds,
  type OptionTable,
  readTable
} from '../options.ts'
import { shown } from '../quiet-log.ts'

/** Says how often, and after which pauses, an event is delivered again after its handler has failed. */
export interface DurableRetryOptions {
  /**
   * Number of deliveries, the first included. An event that fails at its last delivery becomes a dead letter. Default:
   * 5.
   */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt. Default: 1,000. */
  readonly minDelay?: number | undefined
  /** Factor by which each pause is longer than the previous pause. Default: 2. */
  readonly factor?: number | undefined
  /** Longest pause, in milliseconds. Default: 60,000. */
  readonly maxDelay?: number | undefined
}

/**
 * The event with which a new group begins. `'new'`: the first event published from now on; `'all'`: the first stored
 * event; `since`: the first event stored at or after that time; `after`: the event behind a position that `publish`
 * returned. An `undefined` position, which engines without positions return, is refused.
 */
export type DurableStart = 'new' | 'all' | { readonly since: Date } | { readonly after: string | undefined }

/** The rule of an event that recurs. */
export interface Recurrence {
  /** The times as a cron expression: `'0 6 * * *'`. With six fields, the first one is the second. */
  readonly cron: string
  /** The time zone of the expression, such as `'Europe/Berlin'`. Default: the time zone of the process. */
  readonly timeZone?: string | undefined
}

/**
 * Makes the handler of an event durable: each event is delivered until its handler succeeds, or becomes a dead letter.
 */
export interface DurableOptions {
  readonly retry?: DurableRetryOptions | undefined
  /** Most events of this handler that run at the same time in one process. Default: 16. */
  readonly concurrency?: number | undefined
  /** Whether events with the same key run one after the other, in the order of publishing. Default: false. */
  readonly ordered?: boolean | undefined
  /**
   * The group of the handler. Processes of one group share the events; each group gets all events. Default: the name of
   * the service.
   */
  readonly group?: string | undefined
  /**
   * The event with which a new group begins. With `'new'`, the log says how many stored events the group does not get.
   * Default: `'new'`.
   */
  readonly start?: DurableStart | undefined
  /**
   * The handler writes in the transaction that acknowledges its event, `store.transaction(delivery, …)`: both happen, or
   * neither. Needs a store in a database, `postgres()` or `sqlite()`. Default: false.
   */
  readonly transactional?: boolean | undefined
  /**
   * The event recurs: the group of the handler gets it at these times, once for all its processes. Its data is
   * `{ due }`, the time as text. Needs a store that keeps events until a time, and the package `croner`. Default: the
   * event comes only when it is published.
   */
  readonly every?: Recurrence | undefined
}

/** Checked options, with their defaults. */
export interface DurableSettings {
  readonly retry: Readonly<Record<keyof DurableRetryOptions, number>>
  readonly concurrency: number
  readonly ordered: boolean
  /** The group of the handler; `undefined`: the name of the service. */
  readonly group: string | undefined
  readonly start: DurableStart
  readonly transactional: boolean
  /** The rule by which the event recurs; `undefined`: it does not recur. */
  readonly every: Recurrence | undefined
}

const WHOLE = mustBe(
  'a whole number, 1 or more',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1
)

/** Defaults and checks of the options of `retry`. */
export const RETRY_OPTIONS = {
  attempts: { byDefault: 5, check: WHOLE },
  minDelay: { byDefault: 1_000, check: mustBeMilliseconds(0) },
  factor: { byDefault: 2, check: mustBeAtLeast(1) },
  maxDelay: { byDefault: 60_000, check: mustBeMilliseconds(0) }
} as const satisfies OptionTable<DurableRetryOptions>

/** Defaults and checks of all options of a durable handler. */
export const DURABLE_OPTIONS = {
  retry: {},
  concurrency: { byDefault: 16, check: WHOLE },
  ordered: { byDefault: false, check: mustBeBoolean },
  group: { check: checkOwnGroup },
  start: { byDefault: 'new', check: checkStart },
  transactional: { byDefault: false, check: mustBeBoolean },
  every: { check: checkRecurrence }
} as const satisfies OptionTable<DurableOptions>

/**
 * Checks the options and fills in defaults; `true` means all defaults.
 * @param path the name of the option in error messages
 * @throws {OptionError} an option is invalid
 */
export function durableSettings(given: DurableOptions | true, path = 'options.durable'): DurableSettings {
  const options = readTable<DurableOptions, typeof DURABLE_OPTIONS>(
    path,
    given === true ? {} : given,
    DURABLE_OPTIONS
  )
  return { ...options, retry: readTable(`${path}.retry`, options.retry, RETRY_OPTIONS) }
}

/** Refuses `~` in a group that a user names: `groupNamed` uses `~` to escape characters of a service's name. */
function checkOwnGroup(path: string, group: unknown): void {
  checkGroup(path, group)
  if (group.includes('~')) throw OptionError.expected(path, "a text without '~'", group)
}

/** @throws {OptionError} the name has characters that some engine does not allow in the name of a group */
export function checkGroup(path: string, group: unknown): asserts group is string {
  if (typeof group !== 'string' || !/^[^\s.*>/\\]{1,128}$/u.test(group))
    throw OptionError.expected(
      path,
      "a text of 1 to 128 characters without blanks or the characters '.', '*', '>', '/', '\\'",
      group
    )
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

const RECURRENCE_OPTIONS = {
  cron: { check: mustBe("a cron expression, such as '0 6 * * *'", isText), isNeeded: true },
  timeZone: { check: mustBe("a time zone, such as 'Europe/Berlin'", isText) }
} as const satisfies OptionTable<Recurrence>

/** Checks the form of a rule; whether it is a cron expression is known when the service starts. */
export function checkRecurrence(path: string, given: unknown): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw OptionError.expected(path, "{ cron: '0 6 * * *', timeZone: 'Europe/Berlin' }", given)
  readTable(path, given as Recurrence, RECURRENCE_OPTIONS)
}

function checkStart(path: string, start: unknown): void {
  if (start === 'new' || start === 'all') return
  if (typeof start === 'object' && start !== null && !Array.isArray(start))
    checkNames(path, start, ['since', 'after'])
  const { since, after } = Object(start) as { since?: unknown; after?: unknown }
  const isSince = since instanceof Date && !Number.isNaN(since.getTime()) && after === undefined
  const isAfter = typeof after === 'string' && after !== '' && since === undefined
  if (typeof start !== 'object' || !(isSince || isAfter))
    throw OptionError.expected(path, "'new', 'all', { since: Date } or { after: position }", start)
}

/**
 * Returns the group of a handler: its own group, or the group that is named after the service.
 * @throws {OptionError} the handler has no group and the service has no name
 */
export function groupOf(settings: DurableSettings, service: string | undefined, pattern: string): string {
  const group = settings.group ?? (service && groupNamed(service.replaceAll('~', escaped)))
  if (group === undefined)
    throw new OptionError(
      'options.durable.group',
      `The durable event '${pattern}' has no group: give the service a name, or set durable.group of the handler`
    )
  return group
}

/**
 * Returns the group that is named after a service. Each character that a group must not have is escaped with its code,
 * such as `~2e~` for a dot, so that services with different names have different groups.
 */
export function groupNamed(service: string): string {
  return service.replace(/[\s.*>/\\]/gu, escaped)
}

function escaped(sign: string): string {
  return `~${sign.charCodeAt(0).toString(16)}~`
}

/**
 * The line of the log at the start of a new group that begins with new events, though there are stored ones.
 * @param count at least the number of events that the group does not get
 */
export function skippedAtStart(group: string, pattern: string, count: number | bigint): string {
  return `The group '${shown(group)}' is new and begins with the next event: up to ${count} events '${shown(pattern)}' were stored before, and it does not get them. With durable.start 'all' a new group gets them`
}

/** Milliseconds until the next delivery after `attempt` (from 1) has failed. */
export function pauseAfter(
  { minDelay, factor, maxDelay }: DurableSettings['retry'],
  attempt: number
): number {
  return Math.min(maxDelay, LONGEST_TIME, minDelay * factor ** (attempt - 1))
}
