/**
 * Finds problems that show over a while: error rates, and queues that grow. A trend is a value; each moment makes a new
 * one.
 */
import { type Condition, plural, type Watched } from './conditions.ts'

/** Milliseconds after which a message counts half. */
const HALF_LIFE = 15_000
/** The share of failures that is too much, and the one at which it is good again. */
const MANY = 0.05
const FEW = 0.02
/** Failures that a share is made of at least. */
const ENOUGH = 5
/** Milliseconds over which a number must have grown, by this factor, to at least so much. */
const OVER = 30_000
const FACTOR = 1.2
const AT_LEAST = 100
/** An outbox whose oldest event waits so long does not publish, in milliseconds. */
const OUTBOX_LAG = 30_000

/** Messages and failures of a process, the older the less. */
interface Share {
  readonly messages: number
  readonly failures: number
  readonly isTooMuch: boolean
}

/** A number at several times. */
type Growth = readonly { readonly at: number; readonly value: number }[]

/** The trends that are remembered from one moment to the next. */
export interface Trends {
  readonly at: number
  readonly shares: ReadonlyMap<string, Share>
  readonly growths: ReadonlyMap<string, Growth>
}

/** Nothing is remembered. */
export const NO_TRENDS: Trends = { at: 0, shares: new Map(), growths: new Map() }

/** Goes on by one moment. */
export function nextTrends(before: Trends, watched: Watched): Trends {
  const { at, told, groups } = watched
  // Services were not watched meanwhile.
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

/** With one more number: about one for each second of the last while, and one that is older. */
function grown(before: Growth, at: number, value: number): Growth {
  const last = before.at(-1)
  if (last !== undefined && at - last.at < 1_000) return before
  const old = before.findLastIndex((each) => at - each.at >= OVER)
  return [...before.slice(Math.max(0, old)), { at, value }]
}

/** Services many of whose messages fail. */
export function failing({ shares }: Trends): Condition[] {
  return [...shares].flatMap(([id, { messages, failures, isTooMuch }]): Condition[] =>
    isTooMuch
      ? [
          {
            key: `errors ${id}`,
            kind: 'errors',
            title: `${Math.max(1, Math.round((failures / messages) * 100))} % of what ${id} handles fails`,
            detail: 'Errors that its handlers did not throw on purpose, or callers whose time was over.',
            advice:
              'Its log has each error with its stack. Sort its patterns by errors to see which ones fail.',
            place: ['services', id]
          }
        ]
      : []
  )
}

/** Groups for which events come faster than they are done. */
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
          title: `${last.value.toLocaleString('en')} events wait for ${group}`,
          detail: `${pattern}: ${plural(last.value - first.value, 'event')} more than ${Math.round((at - first.at) / 1_000)} s ago${isPaused ? '; the group is paused' : ''}.`,
          advice: isPaused
            ? 'Resume the group: resumeGroup(), see docs/durable-events.md.'
            : 'Look whether what its handler needs has become slow. Otherwise start more processes of it, or raise concurrency.',
          place: ['events', engine, group]
        }
      ]
    })
  )
}

/** Outboxes that do not publish. */
export function stuck({ outboxes }: Watched): Condition[] {
  return outboxes.flatMap(({ service, schema, pending, lag }): Condition[] =>
    lag < OUTBOX_LAG
      ? []
      : [
          {
            key: `outbox lag ${schema}`,
            kind: 'outbox',
            title: `${plural(pending, 'event')} of the outbox ${schema} wait to be published`,
            detail: `The oldest has waited for ${Math.round(lag / 1_000)} s. The relay runs in ${service}.`,
            advice:
              'Look at the log of the relay: its engine may be gone or full, or a long transaction holds it back.',
            place: ['events']
          }
        ]
  )
}
