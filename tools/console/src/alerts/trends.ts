/**
 * Finds problems that show only over some time: high error rates, and queues that grow. The state is immutable;
 * each moment computes a new one.
 */
import { plural } from '../plural.ts'
import { type Condition, outboxKey, type Watched } from './conditions.ts'

/** Milliseconds after which a message counts half. */
const HALF_LIFE = 15_000
/** The share of failures at which an alert begins, and the share below which it ends. */
const MANY = 0.05
const FEW = 0.02
/** The smallest number of failures for an alert. */
const ENOUGH = 5
/** For an alert a number must have grown over `OVER` milliseconds, by the factor `FACTOR`, to at least `AT_LEAST`. */
const OVER = 30_000
const FACTOR = 1.2
const AT_LEAST = 100
/** An outbox counts as stuck if its oldest event has waited for this number of milliseconds. */
const OUTBOX_LAG = 30_000

/** Messages and failures of a process; older ones have less weight. */
interface Share {
  readonly messages: number
  readonly failures: number
  readonly isTooMuch: boolean
}

/** The values of a number at several times. */
type Growth = readonly { readonly at: number; readonly value: number }[]

/** The state that is kept from one moment to the next. */
export interface Trends {
  readonly at: number
  readonly shares: ReadonlyMap<string, Share>
  readonly growths: ReadonlyMap<string, Growth>
}

/** The initial state. */
export const NO_TRENDS: Trends = { at: 0, shares: new Map(), growths: new Map() }

/** Computes the state of the next moment. */
export function nextTrends(before: Trends, watched: Watched): Trends {
  const { at, told, groups } = watched
  // If services were not watched for a while, the old state is not used.
  const { shares, growths } = at - before.at > OVER ? NO_TRENDS : before
  const seconds = Math.min(10, Math.max(0, (at - before.at) / 1_000))
  const fading = 0.5 ** ((at - before.at) / HALF_LIFE)
  return {
    at,
    shares: new Map(
      told.flatMap(({ view, sample: { total } }) => {
        if (total === undefined) return []
        const old = shares.get(view.id) ?? { messages: 0, failures: 0, isTooMuch: false }
        const messages = old.messages * fading + total.rate * seconds
        const failures = old.failures * fading + total.failures * seconds
        const share = messages > 0 ? failures / messages : 0
        const isTooMuch = old.isTooMuch ? share >= FEW && failures >= 1 : share >= MANY && failures >= ENOUGH
        return [[view.id, { messages, failures, isTooMuch }] as const]
      })
    ),
    growths: new Map(
      groups.flatMap(({ engine, group, handlers }) =>
        handlers.flatMap(({ pattern, waits }) => {
          if (waits === undefined) return []
          const key = `${engine} ${group} ${pattern}`
          return [[key, grown(growths.get(key) ?? [], at, waits)] as const]
        })
      )
    )
  }
}

/** Adds a value: about one value is kept for each second of the period, and one that is older. */
function grown(before: Growth, at: number, value: number): Growth {
  const last = before.at(-1)
  if (last !== undefined && at - last.at < 1_000) return before
  const old = before.findLastIndex((each) => at - each.at >= OVER)
  return [...before.slice(Math.max(0, old)), { at, value }]
}

/** Services with a high share of failed messages. */
export function failing({ shares }: Trends): Condition[] {
  return [...shares].flatMap(([id, { messages, failures, isTooMuch }]): Condition[] =>
    isTooMuch
      ? [
          {
            key: `errors ${id}`,
            kind: 'errors',
            title: `${Math.max(1, Math.round((failures / messages) * 100))} % of the messages of ${id} fail`,
            detail: 'Its handlers have thrown unexpected errors, or have not answered in time.',
            advice:
              'Its log has each error with its stack. Sort its patterns by errors to see which ones fail.',
            place: ['services', id]
          }
        ]
      : []
  )
}

/** Groups whose events arrive faster than they are handled. */
export function lagging({ growths }: Trends, { groups, at }: Watched): Condition[] {
  return groups.flatMap(({ engine, group, handlers }) =>
    handlers.flatMap(({ pattern, isPaused }): Condition[] => {
      const growth = growths.get(`${engine} ${group} ${pattern}`) ?? []
      const [first, last] = [growth[0], growth.at(-1)]
      if (first === undefined || last === undefined || at - first.at < OVER) return []
      if (last.value < AT_LEAST || last.value < first.value * FACTOR) return []
      return [
        {
          key: `lag ${engine} ${group} ${pattern}`,
          kind: 'lag',
          title: `${plural(last.value, 'event waits', 'events wait')} for ${group}`,
          detail: `${pattern}: ${plural(last.value - first.value, 'event')} more than ${Math.round((at - first.at) / 1_000)} s ago${isPaused ? '; the group is paused' : ''}.`,
          advice: isPaused
            ? 'Resume the group: client.group(name).resume(), see docs/durable-events.md.'
            : 'Check whether a database or service that the handler uses has become slow. Otherwise start more processes, or raise concurrency.',
          place: ['events', engine, group]
        }
      ]
    })
  )
}

/** Outboxes that do not publish their events. */
export function stuck(watched: Watched): Condition[] {
  return watched.outboxes.flatMap((outbox): Condition[] => {
    const { service, schema, pending, oldest, isSilent } = outbox
    return oldest < OUTBOX_LAG || isSilent === true
      ? []
      : [
          {
            key: `${outboxKey(outbox, watched)} lag`,
            kind: 'outbox',
            title: `${plural(pending, 'event')} of the outbox ${schema} wait to be published`,
            detail: `The oldest event has waited for ${Math.round(oldest / 1_000)} s. The relay runs in ${service}.`,
            advice:
              'Read the log of the relay: its engine may be unreachable or full, or a long transaction delays it.',
            place: ['events']
          }
        ]
  })
}
