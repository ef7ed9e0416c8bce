import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PatternFigures, Sample, ServiceSample } from '../protocol.ts'
import {
  gaugeLines,
  type History,
  linesByPattern,
  linesOf,
  MAX_LINES,
  MAX_SAMPLES,
  NOTHING,
  withoutThoseGone,
  withSample
} from './history.ts'

const row = (pattern: string, rate: number, more: Partial<PatternFigures> = {}): PatternFigures => ({
  kind: 'message',
  pattern,
  rate,
  inFlight: 0,
  errors: 0,
  failures: 0,
  ...more
})
const sample = (at: number, rows: PatternFigures[], connections = 1): Sample => ({
  at: at * 1_000,
  services: {
    a: {
      transports: [{ name: 'tcp', gauges: [{ name: 'connections', value: connections }], durable: [] }],
      outboxes: [],
      rows,
      calls: [],
      ...(rows[0] && { total: rows[0] })
    }
  }
})
/** A sample as the server sends it for a service that the page does not show. */
const brief = (at: number): Sample => {
  const { a } = sample(at, []).services
  return { at: at * 1_000, services: { a: { ...(a as ServiceSample), isBrief: true } } }
}
const historyOf = (...samples: Sample[]): History =>
  samples.reduce(withSample, new Map<string, History>()).get('a') ?? NOTHING

describe('the history of a service', () => {
  it('keeps so many samples, and fewer of many patterns', () => {
    const few = historyOf(...Array.from({ length: MAX_SAMPLES + 5 }, (_, at) => sample(at, [row('x', 1)])))
    assert.deepEqual([few.moments.length, few.moments[0]?.at], [MAX_SAMPLES, 5])
    const rows = Array.from({ length: 1_000 }, (_, n) => row(`p${n}`, 1))
    assert.equal(historyOf(...Array.from({ length: 120 }, (_, at) => sample(at, rows))).moments.length, 90)
  })

  it('draws the busiest patterns, and all others as one', () => {
    const rows = Array.from({ length: 10 }, (_, n) => row(`p${n}`, n))
    const { times, lines } = linesByPattern(
      historyOf(sample(0, rows), brief(1), brief(2), sample(2, rows), sample(3, rows)),
      'rate'
    )
    // Earlier samples are brief, because the page showed another service then; the server's record has that time.
    assert.deepEqual(times, [2, 3])
    assert.equal(lines.length, MAX_LINES + 1)
    assert.deepEqual(lines[0], { label: 'p9', values: [9, 9] })
    assert.deepEqual(lines.at(-1), { label: '3 others', values: [6, 6] })
    assert.deepEqual(linesByPattern(historyOf(sample(2, rows)), 'errors').lines, [])
  })

  it('keeps fewer samples of each of very many services, and forgets those that are gone', () => {
    const services = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, n) => [`s${n}`, sample(0, []).services['a'] as ServiceSample])
    )
    let histories: ReadonlyMap<string, History> = new Map()
    for (let at = 0; at < 25; at++) histories = withSample(histories, { at: at * 1_000, services })
    assert.equal(histories.get('s7')?.moments.length, 20)
    const view = { id: 's7', service: 's7' }
    const overview = { canTry: false, interval: 1_000, services: [view] }
    assert.deepEqual([...withoutThoseGone(histories, overview).keys()], ['s7'])
    const few = new Map([...histories].slice(0, 3))
    assert.equal(withoutThoseGone(few, overview), few)
  })

  it('forgets patterns with the last moment in which they did anything', () => {
    const busy = sample(0, [row('x', 0.1, { errors: 0.3 }), row('y', 0.2)])
    const quiet = Array.from({ length: MAX_SAMPLES }, (_, at) => sample(at + 1, [row('x', 0), row('y', 0.7)]))
    const labels = (history: History, figure: 'rate' | 'errors') =>
      linesByPattern(history, figure).lines.map(({ label }) => label)
    const before = historyOf(busy, ...quiet.slice(1))
    assert.deepEqual([labels(before, 'rate'), labels(before, 'errors')], [['y', 'x'], ['x']])
    const after = historyOf(busy, ...quiet)
    assert.deepEqual([labels(after, 'rate'), labels(after, 'errors')], [['y'], []])
  })

  it('draws figures of one pattern, of all, and of transports', () => {
    const moments = historyOf(sample(1, []), sample(2, [row('x', 5, { p99: 7 })], 3))
    const figures = [['p99', 'p99']] as const
    const p99 = [{ label: 'p99', values: [null, 7], isWorst: true }]
    assert.deepEqual(linesOf(moments, 'message x', figures).lines, p99)
    assert.deepEqual(linesOf(moments, undefined, figures).lines, p99)
    assert.deepEqual(
      gaugeLines(moments, [
        ['open', 'connections'],
        ['none', 'none']
      ]).lines,
      [{ label: 'open', values: [1, 3] }]
    )
  })
})
