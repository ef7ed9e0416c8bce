/** Options of a handler of durable events, over any engine. */
import { OptionError } from '../errors/index.ts'
import {
  LONGEST_TIME,
  mustBe,
  mustBeAtLeast,
  mustBeBoolean,
  mustBeMilliseconds,
  type OptionTable,
  readTable
} from '../options.ts'

/** How often, and after which pauses, a handler that has failed gets its event again. */
export interface RetryOptions {
  /** Deliveries in all; what fails at the last one becomes a dead letter. Default: 5. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt. Default: 1,000. */
  readonly delay?: number | undefined
  /** By how much each pause is longer than the one before. Default: 2. */
  readonly factor?: number | undefined
  /** Milliseconds of the longest pause. Default: 60,000. */
  readonly maxDelay?: number | undefined
}

/**
 * Where a group begins that is not known yet: with what is published from now on, with all that is stored, with what was
 * stored at or after a time, or behind a position that `publish` gave (`undefined`, which engines without positions give,
 * is refused).
 */
export type DurableStart = 'new' | 'all' | { readonly since: Date } | { readonly after: string | undefined }

/** Makes the handler of an event durable: each event runs until it succeeds, or is a dead letter. */
export interface DurableOptions {
  readonly retry?: RetryOptions | undefined
  /** Events of this handler that run at a time in one process. Default: 16. */
  readonly concurrency?: number | undefined
  /** Whether events of the same key run one after the other, in the order of publishing. Default: false. */
  readonly ordered?: boolean | undefined
  /** Processes of one group share the events; each group gets all. Default: the name of the service. */
  readonly group?: string | undefined
  /** Where a new group begins. Default: `'new'`. */
  readonly start?: DurableStart | undefined
}

/** Checked options, with their defaults. */
export interface DurableSettings {
  readonly retry: Readonly<Record<keyof RetryOptions, number>>
  readonly concurrency: number
  readonly ordered: boolean
  /** `undefined`: the name of the service. */
  readonly group: string | undefined
  readonly start: DurableStart
}

const WHOLE = mustBe(
  'a whole number, 1 or more',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1
)

/** How often, and after which pauses. */
export const RETRY_OPTIONS = {
  attempts: { byDefault: 5, check: WHOLE },
  delay: { byDefault: 1_000, check: mustBeMilliseconds(0) },
  factor: { byDefault: 2, check: mustBeAtLeast(1) },
  maxDelay: { byDefault: 60_000, check: mustBeMilliseconds(0) }
} as const satisfies OptionTable<RetryOptions>

/** All of them. */
export const DURABLE_OPTIONS = {
  retry: {},
  concurrency: { byDefault: 16, check: WHOLE },
  ordered: { byDefault: false, check: mustBeBoolean },
  group: { check: checkOwnGroup },
  start: { byDefault: 'new', check: checkStart }
} as const satisfies OptionTable<DurableOptions>

/**
 * Fills in defaults; `true` stands for all of them.
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

/** `~` stands for what a service's name has and a group's must not. */
function checkOwnGroup(path: string, group: unknown): void {
  checkGroup(path, group)
  if (group.includes('~')) throw OptionError.expected(path, "a text without '~'", group)
}

/** @throws {OptionError} no engine could have a group of that name */
export function checkGroup(path: string, group: unknown): asserts group is string {
  if (typeof group !== 'string' || !/^[^\s.*>/\\]{1,128}$/u.test(group))
    throw OptionError.expected(
      path,
      "a text of 1 to 128 characters without blanks and '.', '*', '>', '/', '\\'",
      group
    )
}

function checkStart(path: string, start: unknown): void {
  if (start === 'new' || start === 'all') return
  const { since, after, ...others } = Object(start) as { since?: unknown; after?: unknown }
  const isSince = since instanceof Date && !Number.isNaN(since.getTime()) && after === undefined
  const isAfter = typeof after === 'string' && after !== '' && since === undefined
  if (typeof start !== 'object' || Object.keys(others).length > 0 || !(isSince || isAfter))
    throw OptionError.expected(path, "'new', 'all', { since: Date } or { after: position }", start)
}

/**
 * The group of a handler: its own, or that of the service's name.
 * @throws {OptionError} there is neither
 */
export function groupOf(settings: DurableSettings, service: string | undefined, pattern: string): string {
  const group = settings.group ?? (service && groupNamed(service.replaceAll('~', escaped)))
  if (group === undefined)
    throw new OptionError(
      'options.durable.group',
      `The durable event '${pattern}' has no group: give the service a name, or the handler durable.group`
    )
  return group
}

/**
 * The group of a service of that name: the name itself, with `~2e~` for a dot, and the like for what else a group must not
 * have, so that different names are different groups.
 */
export function groupNamed(service: string): string {
  return service.replace(/[\s.*>/\\]/gu, escaped)
}

function escaped(sign: string): string {
  return `~${sign.charCodeAt(0).toString(16)}~`
}

/** Milliseconds until the next delivery after `attempt` (from 1) has failed. */
export function pauseAfter({ delay, factor, maxDelay }: DurableSettings['retry'], attempt: number): number {
  return Math.min(maxDelay, LONGEST_TIME, delay * factor ** (attempt - 1))
}
