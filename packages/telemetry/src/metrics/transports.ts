/** The figures from the `stats()` of transports, as metrics. */
import type { DurableFigures, TransportStats, Usage } from '@elysia-microservices/transport'
import { transportStats } from '../figures/services.ts'
import { MESSAGING, SYSTEM, systemOf } from '../traces/attributes.ts'
import type { NumberMetric, Point } from './metric.ts'

const PREFIX = `${SYSTEM}.transport`
const LIMIT = `${PREFIX}.limit`
/** The figures of `stats()` that only grow. */
const COUNTERS: ReadonlySet<string> = new Set(['closedIdle', 'refused'])
const UNITS: Readonly<Record<string, string>> = {
  connections: '{connection}',
  inFlight: '{message}',
  streams: '{stream}',
  received: 'By',
  unsent: 'By'
}

type Attributes = Point<number>['attributes']

/**
 * The metrics of durable handlers. Figures of a group that the engine provides are the same in each process of the
 * group.
 */
const DURABLE: readonly (Omit<NumberMetric, 'points'> & { readonly key: keyof DurableFigures })[] = [
  {
    key: 'lag',
    kind: 'gauge',
    name: `${SYSTEM}.durable.lag`,
    unit: '{event}',
    description: 'Events of the group that are stored and not done, as last heard from the engine'
  },
  {
    key: 'isPaused',
    kind: 'gauge',
    name: `${SYSTEM}.durable.paused`,
    unit: '1',
    description: 'Whether the group is paused: 1 or 0'
  },
  {
    key: 'redeliveries',
    kind: 'counter',
    name: `${SYSTEM}.durable.redeliveries`,
    unit: '{event}',
    description: 'Deliveries to this process that were not the first'
  },
  {
    key: 'deadLetters',
    kind: 'counter',
    name: `${SYSTEM}.durable.dead_letters`,
    unit: '{event}',
    description: 'Events that became dead letters in this process'
  }
]

/** Combines the values of two services: counts and limits are added, and of two gauges the larger value is used. */
function joined({ kind, name }: Pick<NumberMetric, 'kind' | 'name'>, one: number, other: number): number {
  return kind === 'gauge' && name !== LIMIT ? Math.max(one, other) : one + other
}

/**
 * The figures of all transports as metrics. Each number is a metric under its own name; limits and refusals have
 * the name of the limit as an attribute.
 */
export function transportMetrics(): NumberMetric[] {
  const metrics = new Map<string, NumberMetric & { readonly points: Point<number>[] }>()
  const add = (metric: Omit<NumberMetric, 'points'>, attributes: Attributes, value: number) => {
    const known = metrics.get(metric.name)
    if (known === undefined) return metrics.set(metric.name, { ...metric, points: [{ attributes, value }] })
    const written = JSON.stringify(attributes)
    const same = known.points.findIndex((point) => JSON.stringify(point.attributes) === written)
    // Two services that are reached only inside the process have no address, so their attributes are equal, and
    // their values are combined.
    if (same === -1) known.points.push({ attributes, value })
    else
      known.points[same] = {
        attributes,
        value: joined(metric, value, (known.points[same] as Point<number>).value)
      }
    return metrics
  }
  const addDurable = (transport: string, handler: DurableFigures) => {
    const attributes = {
      [MESSAGING.system]: systemOf('consumer', transport) ?? SYSTEM,
      [MESSAGING.destination]: text(handler.pattern),
      [MESSAGING.group]: text(handler.group)
    }
    for (const { key, ...metric } of DURABLE) {
      const value = handler[key]
      if (value !== undefined) add(metric, attributes, Number(value))
    }
  }
  // An SDK makes its instruments when the service has no handlers yet.
  for (const { key: _, ...metric } of DURABLE) metrics.set(metric.name, { ...metric, points: [] })
  const addTransport = (stats: TransportStats) => {
    const own = attributesOf(stats)
    for (const handler of stats.durable ?? []) addDurable(stats.transport, handler)
    for (const [key, value] of Object.entries(stats)) {
      const described = { kind: 'updown', name: `${PREFIX}.${snake(key)}`, unit: UNITS[key] ?? '1' } as const
      const description = `The figure ${key} of stats()`
      if (typeof value === 'number')
        add({ ...described, kind: COUNTERS.has(key) ? 'counter' : 'updown', description }, own, value)
      else if (isUsage(value)) {
        add({ ...described, description }, own, value.current)
        const limit = {
          kind: 'gauge',
          name: LIMIT,
          unit: '1',
          description: 'Limits'
        } as const
        if (value.limit !== false) add(limit, { ...own, limit: snake(key) }, value.limit)
      } else if (key === 'refused') {
        const refused = { kind: 'counter', name: `${PREFIX}.refused`, unit: '1' } as const
        for (const [limit, count] of Object.entries(value as Record<string, number>))
          add(
            { ...refused, description: 'Connections and messages refused because of a limit' },
            { ...own, limit: snake(limit) },
            count
          )
      }
    }
  }
  for (const stats of transportStats()) {
    // A transport may be written by a user. Figures that cannot be read must not take all others away.
    try {
      addTransport(stats)
    } catch {}
  }
  return [...metrics.values()]
}

/** @throws {TypeError} the value is no text, as its type says */
function text(value: string): string {
  if (typeof value !== 'string') throw new TypeError('A figure has an attribute that is no text')
  return value
}

function attributesOf({ transport: given, address }: TransportStats): Attributes {
  const transport = text(given)
  if (address === undefined) return { transport }
  const { host, port, path } = address
  if (path !== undefined) return { transport, 'server.address': text(path) }
  return { transport, 'server.address': text(host), 'server.port': String(port) }
}

function isUsage(value: unknown): value is Usage {
  const { current, limit } = Object(value) as Partial<Usage>
  return typeof current === 'number' && (typeof limit === 'number' || limit === false)
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
