import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_SERIES, Past, STEP, STEPS } from './past.ts'
import type { Figures, PatternFigures, ServiceSample } from './protocol.ts'

const figures = (rate: number, more: Partial<Figures> = {}): Figures => ({
  rate,
  inFlight: 0,
  errors: 0,
  failures: 0,
  ...more
})
const row = (pattern: string, rate: number): PatternFigures => ({
  kind: 'message',
  pattern,
  ...figures(rate)
})
const sample = (total: Figures, rows: readonly PatternFigures[] = []): ServiceSample => ({
  transports: [],
  outboxes: [],
  total,
  rows,
  calls: []
})

describe('the last hour', () => {
  it('keeps the mean of a step, and the worst of its slowest messages', () => {
    const past = new Past()
    past.add(0, { a: sample(figures(10, { p99: 5 })) })
    past.add(1_000, { a: sample(figures(20, { p99: 9 })) })
    past.add(2_000, { a: sample(figures(30)) })
    past.add(STEP, { a: sample(figures(1)) })
    const { times, figures: kept } = past.of('a')
    assert.deepEqual(times, [STEP / 1_000, (2 * STEP) / 1_000])
    assert.deepEqual(
      [kept.rate, kept.p99, kept.p50],
      [
        [20, 1],
        [9, null],
        [null, null]
      ]
    )
  })

  it('forgets what is older, and shows gaps as gaps', () => {
    const past = new Past()
    past.add(0, { a: sample(figures(1)) })
    past.add(5 * STEP, { a: sample(figures(2)) })
    assert.deepEqual(past.of('a').figures.rate, [1, null, null, null, null, 2])
    past.add((STEPS + 2) * STEP, { a: sample(figures(3)) })
    const { rate } = past.of('a').figures
    assert.deepEqual([rate?.[0], rate?.at(-1), rate?.filter((each) => each !== null)], [2, 3, [2, 3]])
    past.add(3 * STEPS * STEP, { a: sample(figures(4)) })
    assert.deepEqual(past.of('a').figures.rate, [4])
    past.add(STEP, { a: sample(figures(5)) })
    assert.deepEqual(past.of('a').figures.rate, [4], 'a clock that was put back')
  })

  it('tells the busiest patterns, and any of them', () => {
    const past = new Past()
    past.add(0, { a: sample(figures(3), [row('idle', 0), row('less', 1), row('more', 2)]) })
    assert.deepEqual(
      past.of('a').patterns.map(({ key, rate }) => [key, rate]),
      [
        ['message more', [2]],
        ['message less', [1]]
      ]
    )
    assert.deepEqual(past.of('a', 'message less').figures.rate, [1])
    assert.deepEqual(past.of('a', 'message idle'), { times: [], figures: {}, patterns: [] })
    assert.deepEqual(past.of('b').times, [])
  })

  it('has no more than its room, and takes in others when that is an hour old', () => {
    const past = new Past()
    const many = (prefix: string) =>
      Array.from({ length: MAX_SERIES + 10 }, (_, n) => row(`${prefix}${n}`, 1))
    past.add(0, { a: sample(figures(1), many('a')) })
    assert.equal(past.size, MAX_SERIES)
    past.add(STEP, { b: sample(figures(1)) })
    assert.deepEqual(past.of('b').times, [])
    past.add((STEPS + 1) * STEP, { b: sample(figures(1)) })
    assert.equal(past.size, 1)
    assert.deepEqual(past.of('b').figures.rate, [1])
  })
})
