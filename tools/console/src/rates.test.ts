import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Rates } from './rates.ts'

it('a rate is counted over some seconds, and restarts with another process or clock', () => {
  const rates = new Rates()
  const of = (at: number, count: number) => rates.of('a', at, count)
  assert.deepEqual([of(0, 100), of(1_000, 110), of(5_000, 150), of(9_999, 9_000)], [0, 0, 10, 10])
  assert.deepEqual([of(15_000, 3), of(20_000, 8), of(100, 8), of(5_100, 13)], [0, 1, 0, 1])
})
