/**
 * Reads the description of an untrusted service: checks it, and converts it to plain values of limited size for a
 * page.
 */
import type { CallerFigures, DurationBuckets, HandlerFigures } from '@elysia-microservices/transport/kit'
import { Budget, entriesOf, fieldsOf, finite, firstOf, shortText } from './bounds.ts'
import { plural } from './plural.ts'
import type {
  DescribedService,
  DurableView,
  GaugeView,
  Kind,
  OutboxView,
  PatternView,
  Schema,
  TransportView
} from './protocol.ts'

/** Largest number of patterns of a service that are shown. */
export const MAX_PATTERNS = 1_000
/** Largest number of characters of a pattern. A longer pattern is left out, because a cut one could not be called. */
export const MAX_PATTERN = 500
const MAX_TRANSPORTS = 20
const MAX_GAUGES = 60
/** Largest number of durable handlers. */
const MAX_DURABLE = 500
const MAX_OUTBOXES = 20
/** Largest number of characters of a reason for something missing. */
const MAX_REASON = 300
const MAX_HOOKS = 50
const MAX_BUCKETS = 40
const MAX_CODES = 100
/** The codes that `rowsBetween` handles separately; all others are counted together. */
const CODES: ReadonlySet<string> = new Set(['OK', 'CANCELED', 'INTERNAL', 'TIMEOUT'])
/** The name under which all other codes are counted; the semantic conventions define this name. */
const OTHER = '_OTHER'
/** Largest number of values in all schemas of a service together. */
const MAX_SCHEMA_NODES = 50_000
const MAX_NAME = 100
/** Largest number of names of clients in the process of a service. */
const MAX_CLIENTS = 100
/** Largest number of pairs of caller and pattern. */
const MAX_CALLERS = 1_000
/** Largest number of characters of a pattern beside its caller, where it is only shown. */
const MAX_CALLED = 200
/** Up to this number, descriptions may have the full size. With more descriptions each one may only have a part of it. */
const WHOLE = 150

const FORMS = ['exact', 'wildcard', 'regexp', 'all'] as const

/** A description that has been read. */
export interface ReadDescription {
  /** The id of the process that has answered; empty if the answer has none. */
  readonly instance: string
  readonly described: DescribedService & { readonly patterns: readonly PatternView[] }
  readonly transports: readonly TransportView[]
  readonly figures: readonly HandlerFigures[]
  readonly outboxes: readonly OutboxView[]
  readonly callers: readonly CallerFigures[]
}

/**
 * Reads the answer of a service.
 * @param crowd the number of descriptions that are kept, including this one: it limits the memory of all together
 * @throws {TypeError} the answer is not a description
 */
export function readDescription(answer: unknown, crowd = 1): ReadDescription {
  const room = (most: number) => Math.ceil(most * Math.min(1, WHOLE / crowd))
  const { name, version, instance, status, process, transports, handlers, figures, callers, parts } =
    fieldsOf(answer)
  if (!Array.isArray(handlers) || !Array.isArray(transports))
    throw new TypeError('its answer has no lists of handlers and transports')
  const { patterns, leftOut } = readHandlers(handlers, room(MAX_PATTERNS), room(MAX_SCHEMA_NODES))
  const durable = { left: room(MAX_DURABLE) }
  return {
    instance: typeof instance === 'string' ? shortText(instance, MAX_NAME) : '',
    described: {
      name: shortText(name, MAX_NAME),
      version: shortText(version, MAX_NAME),
      status: shortText(status, MAX_NAME),
      isCounted: Array.isArray(figures),
      ...readProcess(process),
      patterns,
      leftOut
    },
    transports: firstOf(transports, MAX_TRANSPORTS).map((each) => readTransport(each, durable)),
    figures: readFigures(figures, patterns),
    outboxes: readOutboxes(parts),
    callers: readCallers(callers, room(MAX_CALLERS))
  }
}

function readProcess(process: unknown): Pick<DescribedService, 'process'> {
  const { name, clients } = fieldsOf(process)
  if (!Array.isArray(clients)) return {}
  const names = firstOf(clients, MAX_CLIENTS).map((client) => shortText(client, MAX_NAME))
  return { process: { name: shortText(name, MAX_NAME), clients: names } }
}

function readHandlers(
  handlers: readonly unknown[],
  most: number,
  nodes: number
): { patterns: PatternView[]; leftOut: string[] } {
  const patterns: PatternView[] = []
  const budget = new Budget(nodes)
  let wrong = 0
  let schemas = 0
  let surplus = 0
  const schemaOf = (value: unknown): Schema | undefined => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const copy = budget.copy(value)
    if (copy === undefined) schemas++
    return copy as Schema | undefined
  }
  for (const [index, handler] of handlers.entries()) {
    if (patterns.length >= most) {
      surplus = handlers.length - index
      break
    }
    const {
      kind,
      patterns: given,
      data,
      headers,
      response,
      errors,
      hooks,
      timeout,
      idempotent,
      streams
    } = fieldsOf(handler)
    if ((kind !== 'message' && kind !== 'event') || !Array.isArray(given)) {
      wrong++
      continue
    }
    const own = {
      ...optional('data', schemaOf(data)),
      ...optional('headers', schemaOf(headers)),
      ...optional('response', schemaOf(response)),
      ...optional('errors', schemaOf(errors)),
      ...optional('timeout', typeof timeout === 'number' ? timeout : undefined),
      ...optional('idempotent', idempotent === true || undefined),
      ...optional('takesStream', fieldsOf(streams)['data'] === true || undefined),
      ...optional('answersStream', fieldsOf(streams)['answer'] === true || undefined),
      hooks: firstOf(hooks, MAX_HOOKS).map(hookText)
    }
    for (const each of given.slice(0, most - patterns.length)) {
      const { kind: form, pattern } = fieldsOf(each)
      if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN) wrong++
      else patterns.push({ kind, form: FORMS.find((known) => known === form) ?? 'exact', pattern, ...own })
    }
  }
  const leftOut: string[] = []
  if (surplus > 0) leftOut.push(`${plural(surplus, 'handler')} after the first ${most} patterns`)
  if (wrong > 0)
    leftOut.push(`${plural(wrong, 'handler or pattern', 'handlers or patterns')} with an invalid description`)
  if (schemas > 0) leftOut.push(plural(schemas, 'schema that is too large', 'schemas that are too large'))
  return { patterns, leftOut }
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value }
}

function hookText(hook: unknown): string {
  const { type, name } = fieldsOf(hook)
  return `${shortText(type, MAX_NAME)} ${shortText(name, MAX_NAME)}`
}

/** @param room how many durable handlers may still be added */
function readTransport(stats: unknown, room: { left: number }): TransportView {
  const { transport, address, unavailable, durable } = fieldsOf(stats)
  const { host, port, path } = fieldsOf(address)
  const gauges: GaugeView[] = []
  collectGauges(stats, '', gauges)
  const handlers = firstOf(durable, room.left)
  room.left -= handlers.length
  return {
    name: shortText(transport, MAX_NAME),
    gauges,
    ...optional('unavailable', textOf(unavailable)),
    durable: handlers.map(readDurable),
    ...(typeof path === 'string' && { address: shortText(path, MAX_NAME) }),
    ...(typeof host === 'string' && typeof port === 'number' && { address: addressText(host, port) })
  }
}

function readDurable(figures: unknown): DurableView {
  const { pattern, group, lag, redeliveries, deadLetters, isPaused, unavailable } = fieldsOf(figures)
  return {
    pattern: shortText(pattern, MAX_PATTERN),
    group: shortText(group, MAX_NAME),
    ...optional('lag', typeof lag === 'number' ? finite(lag) : undefined),
    redeliveries: finite(redeliveries),
    deadLetters: finite(deadLetters),
    isPaused: isPaused === true,
    ...optional('unavailable', textOf(unavailable))
  }
}

function readOutboxes(parts: unknown): OutboxView[] {
  return firstOf(parts, MAX_OUTBOXES).flatMap((part) => {
    const { name, attributes, figures } = fieldsOf(part)
    if (name !== 'outbox') return []
    const { pending, oldest, failed, published, retries } = fieldsOf(figures)
    const { schema, engine } = fieldsOf(attributes)
    return [
      {
        schema: shortText(schema, MAX_NAME),
        ...(typeof engine === 'string' && { engine: shortText(engine, MAX_NAME) }),
        pending: finite(pending),
        oldest: finite(oldest),
        failed: finite(failed),
        published: finite(published),
        retries: finite(retries)
      }
    ]
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? shortText(value, MAX_REASON) : undefined
}

function addressText(host: string, port: number): string {
  const shown = shortText(host, MAX_NAME)
  return shown.includes(':') ? `[${shown}]:${port}` : `${shown}:${port}`
}

/** Collects all numbers by their names; a number with a limit becomes one gauge. */
function collectGauges(value: unknown, prefix: string, gauges: GaugeView[]): void {
  for (const [key, each] of entriesOf(value, MAX_GAUGES)) {
    if (gauges.length >= MAX_GAUGES || key === 'address' || key === 'durable') continue
    const name = shortText(prefix === '' ? key : `${prefix} ${key}`, MAX_NAME)
    if (typeof each === 'number') gauges.push({ name, value: finite(each) })
    else if (typeof fieldsOf(each)['current'] === 'number') {
      const { current, limit } = fieldsOf(each)
      gauges.push({ name, value: finite(current), ...(finite(limit) > 0 && { limit: finite(limit) }) })
    } else if (prefix.split(' ').length < 2) collectGauges(each, name, gauges)
  }
}

/** The figures of the described patterns. Others are dropped, because the process may have further services. */
function readFigures(figures: unknown, patterns: readonly PatternView[]): HandlerFigures[] {
  const known = new Set(patterns.map(({ kind, pattern }) => `${kind} ${pattern}`))
  return firstOf(figures, 2 * MAX_PATTERNS).flatMap((each) => {
    const { kind, pattern, inFlight, outcomes, durations, lifetimes } = fieldsOf(each)
    if (!known.delete(`${kind} ${pattern}`) || !isBuckets(durations)) return []
    return [
      {
        kind: kind as Kind,
        pattern: pattern as string,
        inFlight: finite(inFlight),
        outcomes: readOutcomes(outcomes),
        durations,
        ...(isBuckets(lifetimes) && { lifetimes })
      }
    ]
  })
}

function readOutcomes(outcomes: unknown): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const [code, count] of entriesOf(outcomes, MAX_CODES)) {
    const known = CODES.has(code) ? code : OTHER
    counts[known] = (counts[known] ?? 0) + finite(count)
  }
  return counts
}

const SOURCES = ['client', 'nest', 'unnamed', 'engine', 'others'] as const

function readCallers(callers: unknown, most: number): CallerFigures[] {
  return firstOf(callers, most).flatMap((each) => {
    const { from, caller, kind, transport, pattern, count, errors, milliseconds } = fieldsOf(each)
    const source = SOURCES.find((known) => known === from)
    if (source === undefined || (kind !== 'message' && kind !== 'event')) return []
    return [
      {
        from: source,
        ...(source === 'client' && { caller: shortText(caller, MAX_NAME) }),
        kind,
        transport: shortText(transport, MAX_NAME),
        pattern: shortText(pattern, MAX_CALLED),
        count: finite(count),
        errors: finite(errors),
        milliseconds: finite(milliseconds)
      }
    ]
  })
}

function isBuckets(value: unknown): value is DurationBuckets {
  const { bounds, counts } = fieldsOf(value)
  if (!Array.isArray(bounds) || !Array.isArray(counts) || bounds.length > MAX_BUCKETS) return false
  if (counts.length !== bounds.length + 1) return false
  const isAscending = bounds.every((bound, index) => bound > (bounds[index - 1] ?? 0))
  return isAscending && [...bounds, ...counts].every((each) => Number.isFinite(each) && each >= 0)
}
