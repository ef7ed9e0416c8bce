import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  encodeHistogram,
  type Latencies,
  latenciesOf,
  makeHistogram,
  mergeHistograms,
  percentileCurve
} from './histogram.ts'

const recorded = (...microseconds: number[]) => {
  const histogram = makeHistogram()
  for (const value of microseconds) histogram.recordValue(value)
  return histogram
}

const upTo = (count: number) => recorded(...Array.from({ length: count }, (_, index) => index + 1))

const assertClose = (actual: Latencies, expected: Latencies) => {
  for (const [name, value] of Object.entries(expected) as [keyof Latencies, number][]) {
    assert.ok(
      Math.abs(actual[name]! - value) <= value / 1000,
      `${name}: ${actual[name]} is not about ${value}`
    )
  }
}

describe('a histogram', () => {
  it('is the same after it was stored, exact to three digits', () => {
    const histogram = recorded(1, 20, 300, 3_600_000_000)
    const read = mergeHistograms([encodeHistogram(histogram)])
    assertClose(latenciesOf(read), { p50: 0.02, p90: 3_600_000, p99: 3_600_000, max: 3_600_000 })
    assert.equal(read.totalCount, 4)
  })

  it('of several processes has all recorded values', () => {
    const merged = mergeHistograms([encodeHistogram(upTo(100)), null, encodeHistogram(recorded(9_000))])
    assert.equal(merged.totalCount, 101)
    assertClose(latenciesOf(merged), { p50: 0.051, p90: 0.091, p99: 0.1, max: 9 })
  })

  it('without values is stored as null, and has no latencies and no curve', () => {
    const nothing = mergeHistograms([null])
    assert.equal(encodeHistogram(nothing), null)
    assert.deepEqual(latenciesOf(nothing), { p50: null, p90: null, p99: null, max: null })
    assert.deepEqual(percentileCurve(nothing), [])
  })
})

describe('the percentile curve', () => {
  it('rises, begins at the fastest request, and ends where too few requests are left', () => {
    const curve = percentileCurve(upTo(1000))
    assert.equal(curve[0]?.percentile, 0)
    assert.equal(curve[0]?.milliseconds, 0.001)
    assert.ok(Math.abs(curve.at(-1)!.oneIn - 178) < 1, String(curve.at(-1)!.oneIn))
    for (const [index, { milliseconds }] of curve.entries()) {
      assert.ok(index === 0 || milliseconds >= curve[index - 1]!.milliseconds)
    }
  })

  it('has the common percentiles', () => {
    const curve = percentileCurve(upTo(100_000))
    for (const [oneIn, milliseconds] of [
      [10, 90],
      [100, 99],
      [1000, 99.9]
    ] as const) {
      const point = curve.find((candidate) => Math.abs(candidate.oneIn - oneIn) < 1e-6)!
      assert.ok(Math.abs(point.milliseconds - milliseconds) < 0.1, `${oneIn}: ${point.milliseconds}`)
    }
  })
})
