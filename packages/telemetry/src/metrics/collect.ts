/** All figures as OpenTelemetry metrics, which are made at each collection. */
import { figures, type PatternFigures, type Side } from '../figures/figures.ts'
import type { Histogram } from '../figures/histogram.ts'
import { isError } from '../outcome.ts'
import { ERROR_TYPE, MESSAGING, RPC, SYSTEM } from '../traces/attributes.ts'
import { statusOf } from '../traces/status.ts'
import { eventLoopDelay } from './event-loop.ts'
import type { HistogramMetric, NumberMetric, Point } from './metric.ts'
import { outboxMetrics } from './outbox.ts'
import { transportMetrics } from './transports.ts'

const DURATIONS: Readonly<Record<Side, { readonly name: string; readonly description: string }>> = {
  server: {
    name: 'rpc.server.call.duration',
    description: 'Duration of requests, from their arrival to their end'
  },
  client: {
    name: 'rpc.client.call.duration',
    description: 'Duration of calls, connecting and retries included'
  },
  consumer: { name: 'messaging.process.duration', description: 'Duration of the handling of events' },
  producer: { name: 'messaging.client.operation.duration', description: 'Duration of the sending of events' }
}

/** All durations. */
export function histograms(): HistogramMetric[] {
  return sides().map(([side, { name, description }]) => ({
    kind: 'histogram',
    name,
    description,
    unit: 's',
    points: each(side, (pattern) =>
      byOutcome(
        [...pattern.durations].map(([code, value]) => ({
          attributes: { ...attributesOf(side, pattern), ...outcomeOf(side, pattern, code) },
          value
        }))
      )
    )
  }))
}

/** All other figures. */
export function numbers(): NumberMetric[] {
  const own: NumberMetric[] = [
    {
      kind: 'updown',
      name: `${SYSTEM}.in_flight`,
      description: 'Messages and calls in flight that take longer than one turn of the event loop',
      unit: '{message}',
      points: sides().flatMap(([side]) =>
        each(side, (pattern) => [
          {
            attributes: { [`${SYSTEM}.side`]: side, ...attributesOf(side, pattern) },
            value: pattern.inFlight
          }
        ])
      )
    },
    {
      kind: 'counter',
      name: `${SYSTEM}.stream.values`,
      description: 'Values that streams have given',
      unit: '{value}',
      points: (['server', 'client'] as const).flatMap((side) =>
        each(side, (pattern) => [
          { attributes: { [`${SYSTEM}.side`]: side, ...attributesOf(side, pattern) }, value: pattern.values }
        ])
      )
    },
    {
      kind: 'counter',
      name: `${SYSTEM}.client.retries`,
      description: 'Retries of calls',
      unit: '{call}',
      points: each('client', (pattern) => [
        { attributes: attributesOf('client', pattern), value: pattern.retries }
      ])
    },
    {
      kind: 'counter',
      name: `${SYSTEM}.client.ejections`,
      description: 'Endpoints that were given up for a while',
      unit: '{endpoint}',
      points: [{ attributes: {}, value: figures.ejections }]
    }
  ]
  return [...own, ...transportMetrics(), ...outboxMetrics(), ...eventLoopDelay()]
}

function sides(): [Side, (typeof DURATIONS)[Side]][] {
  return Object.entries(DURATIONS) as [Side, (typeof DURATIONS)[Side]][]
}

function each<Value>(side: Side, points: (pattern: PatternFigures) => Point<Value>[]): Point<Value>[] {
  return [...figures[side].all()].flatMap(points)
}

function attributesOf(side: Side, { pattern, system = SYSTEM }: PatternFigures): Record<string, string> {
  if (side === 'server' || side === 'client') return { [RPC.system]: system, [RPC.method]: pattern }
  return {
    [MESSAGING.system]: system,
    [MESSAGING.destination]: pattern,
    [MESSAGING.operation]: side === 'producer' ? 'send' : 'process'
  }
}

/** Several codes of this library may have one status in another RPC system: their durations are one point. */
function byOutcome(points: readonly Point<Histogram>[]): Point<Histogram>[] {
  const found = new Map<string, Point<Histogram>>()
  for (const point of points) {
    const key = JSON.stringify(point.attributes)
    const { value } = found.get(key) ?? {}
    found.set(key, value === undefined ? point : { ...point, value: value.plus(point.value) })
  }
  return [...found.values()]
}

function outcomeOf(side: Side, { system }: PatternFigures, code: string): Record<string, string> {
  const isRpc = side === 'server' || side === 'client'
  const status = isRpc ? { [RPC.status]: statusOf(system, code) } : {}
  return isError(side, code) ? { ...status, [ERROR_TYPE]: code } : status
}
