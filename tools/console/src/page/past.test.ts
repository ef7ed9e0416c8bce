import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Mark, PastView } from '../protocol.ts'
import type { Lines } from './history.ts'
import { compared, joined, pastByPattern, pastOf } from './past.ts'

const lines = (times: number[], values: Record<string, (number | null)[]>): Lines => ({
  times,
  lines: Object.entries(values).map(([label, each]) => ({ label, values: each }))
})

describe('the past of a service', () => {
  it('stands in front of what the page has seen, where that begins', () => {
    const past = lines([10, 20, 30, 40], { a: [1, 2, 3, 4], b: [5, 6, 7, 8] })
    const live = lines([38, 39], { a: [9, 10], c: [11, 12] })
    assert.deepEqual(joined(past, live, 15), {
      times: [20, 30, 39],
      lines: [
        { label: 'a', values: [2, 3, 9.5] },
        { label: 'c', values: [null, null, 11.5] },
        { label: 'b', values: [6, 7, null] }
      ]
    })
    assert.deepEqual(joined(past, lines([], {}), 35).times, [40])
    assert.deepEqual(joined(lines([], {}), live, 39).times, [39])
  })

  it('has no finer points of the page beside those of the server, which would look like spikes', () => {
    const past = lines([1_010, 1_020, 1_030], { rate: [4, 5, 6], p99: [10, 10, 10] })
    const seconds = Array.from({ length: 15 }, (_, n) => 1_025 + n)
    const live = {
      times: seconds,
      lines: [
        { label: 'rate', values: seconds.map((at) => (at % 10 === 2 ? 60 : 0)) },
        { label: 'p99', values: seconds.map((at) => (at === 1_034 ? 90 : 10)), isWorst: true as const }
      ]
    }
    assert.deepEqual(joined(past, live, 1_000), {
      times: [1_010, 1_020, 1_030, 1_039],
      lines: [
        { label: 'rate', values: [4, 5, 6, 6] },
        { label: 'p99', values: [10, 10, 10, 90] }
      ]
    })
    assert.deepEqual(joined(past, live, 1_025).times.length, seconds.length)
  })

  it('leaves a gap where nothing is known', () => {
    const { times, lines: all } = joined(lines([10], { a: [1] }), lines([100], { a: [2] }), 0)
    assert.deepEqual(
      [times, all[0]?.values],
      [
        [10, 11, 100],
        [1, null, 2]
      ]
    )
  })

  it('is drawn by pattern, and as figures of all', () => {
    const past: PastView = {
      times: [10],
      figures: { rate: [3], p99: [null] },
      patterns: [
        { key: 'message a', rate: [3], errors: [0] },
        { key: 'event b', rate: [0], errors: [null] }
      ]
    }
    assert.deepEqual(pastByPattern(past, 'rate').lines, [{ label: 'a', values: [3] }])
    assert.deepEqual(pastByPattern(past, 'errors').lines, [])
    assert.deepEqual(
      pastOf(past, [
        ['messages', 'rate'],
        ['p50', 'p50']
      ]).lines,
      [{ label: 'messages', values: [3] }]
    )
  })

  it('is compared before and after a mark, as far as the next one', () => {
    const times = Array.from({ length: 100 }, (_, n) => (n + 1) * 10)
    const rate = times.map((at) => (at <= 500 ? 10 : 20))
    const past: PastView = {
      times,
      figures: { rate, errors: rate.map((each) => each / 10), p50: times.map((at) => (at <= 500 ? 1 : 3)) },
      patterns: []
    }
    const mark = (at: number): Mark => ({ at: at * 1_000, service: 'a', what: 'version', version: `${at}` })
    const { before, after } = compared(past, mark(500), [mark(400), mark(500), mark(700)])
    assert.deepEqual(before, { seconds: 100, rate: 10, p50: 1, p99: undefined, errors: 0.1 })
    assert.deepEqual(after, { seconds: 200, rate: 20, p50: 3, p99: undefined, errors: 0.1 })
    const { before: none } = compared({ times: [], figures: {}, patterns: [] }, mark(5), [])
    assert.deepEqual([none.seconds, none.rate, none.errors], [0, undefined, undefined])
  })
})
