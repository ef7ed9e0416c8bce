/** Which failed calls are retried, and when. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  CanceledError,
  ConnectionError,
  OverloadedError,
  RejectedError,
  TimeoutError
} from '../errors/index.ts'
import { RetryBudget } from './retry-budget.ts'
import { type FailedCall, RetryPolicy } from './retry-policy.ts'

const OPTIONS = { attempts: 3, minDelay: 100, maxDelay: 150, budget: { ratio: 0, perSecond: 1 } }
const UNSENT = new ConnectionError('lost', false)
const SENT = new ConnectionError('lost', true)
const REJECTED = new RejectedError('busy')

const call = (parts: Partial<FailedCall> = {}): FailedCall => ({
  retries: 0,
  deadline: Number.POSITIVE_INFINITY,
  isAnswered: false,
  input: undefined,
  options: undefined,
  ...parts
})

const newPolicy = (exhausted?: () => void) => new RetryPolicy(OPTIONS, 0, () => 0.5, exhausted)

describe('calls that failed', () => {
  it('are retried as often as is allowed, after growing pauses', () => {
    const policy = newPolicy()
    assert.deepEqual(
      [0, 1, 2, 3].map((retries) => policy.pause(call({ retries }), UNSENT, false, 0, 0)),
      [50, 75, undefined, undefined]
    )
  })

  it('are retried at once elsewhere, the first time', () => {
    const policy = newPolicy()
    assert.deepEqual(
      [0, 1, 2].map((retries) => policy.pause(call({ retries }), UNSENT, true, 0, 0)),
      [0, 75, undefined]
    )
  })

  it('are retried only if their time is not over by then', () => {
    const policy = newPolicy()
    const pauseOf = (deadline: number) => policy.pause(call({ deadline }), UNSENT, false, 1_000, 0)
    assert.equal(pauseOf(1_051), 50)
    assert.equal(pauseOf(1_050), undefined)
    assert.equal(pauseOf(1_000), undefined)
  })

  it('are retried only if they have not run, or may run twice', () => {
    const policy = newPolicy()
    const isRetried = (error: Error, parts?: Partial<FailedCall>) =>
      policy.pause(call(parts), error, false, 0, 0) !== undefined
    const idempotent = { options: { idempotent: true } }
    assert.equal(isRetried(UNSENT), true)
    assert.equal(isRetried(SENT), false)
    assert.equal(isRetried(SENT, { options: { idempotent: false } }), false)
    assert.equal(isRetried(SENT, idempotent), true)
    assert.equal(isRetried(REJECTED), true)
    assert.equal(isRetried(new OverloadedError('full')), true)
    assert.equal(isRetried(new TimeoutError('p', 1, false), idempotent), false)
    assert.equal(isRetried(new CanceledError('p', undefined, false), idempotent), false)
  })

  it('are not retried when a value has come, or their own values have left', () => {
    const input = { stopped: false, start() {}, requestN() {}, resume() {}, stop() {} }
    for (const error of [UNSENT, REJECTED]) {
      assert.equal(newPolicy().pause(call({ isAnswered: true }), error, false, 0, 0), undefined)
      assert.equal(newPolicy().pause(call({ input }), error, false, 0, 0), undefined)
    }
  })

  it('are retried within the budget, and it is told when that is used up', () => {
    let exhausted = 0
    const policy = newPolicy(() => exhausted++)
    const pauses = Array.from({ length: 12 }, () => policy.pause(call(), UNSENT, false, 0, 0))
    assert.deepEqual(pauses, [...Array(10).fill(50), undefined, undefined])
    assert.equal(exhausted, 2)
    // A call that is not retried for another reason takes no token from the budget.
    assert.equal(policy.pause(call({ retries: 2 }), UNSENT, false, 0, 0), undefined)
    assert.equal(exhausted, 2)
    assert.equal(policy.pause(call(), UNSENT, false, 1_000, 0), 50)
  })

  it('are not retried where the connection says that this would not help', () => {
    const refused = new ConnectionError('not allowed', false, undefined, false)
    assert.equal(newPolicy().pause(call(), refused, false, 0, 0), undefined)
  })
})

describe('the retry budget', () => {
  it('never gives more than its capacity, a share of the calls and the free ones', () => {
    const step = fc.record({ calls: fc.nat(50), time: fc.nat(2_000), takes: fc.nat(20) })
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(20),
        fc.array(step, { maxLength: 100, size: 'max' }),
        (ratio, perSecond, steps) => {
          const budget = new RetryBudget({ ratio, perSecond }, 0)
          let [calls, now, taken] = [0, 0, 0]
          for (const { calls: more, time, takes } of steps) {
            calls += more
            now += time
            for (let n = 0; n < takes; n++) if (budget.take(now, calls)) taken++
            assert.ok(taken <= budget.capacity + ratio * calls + (perSecond * now) / 1_000 + 1e-6)
          }
        }
      )
    )
  })

  it('is refilled by calls and by time', () => {
    const budget = new RetryBudget({ ratio: 0.2, perSecond: 0 }, 0)
    assert.equal(budget.take(0, 0), false)
    assert.equal(budget.take(0, 5), true)
    assert.equal(budget.take(0, 5), false)
    const timed = new RetryBudget({ ratio: 0, perSecond: 1 }, 0)
    for (let n = 0; n < 10; n++) assert.equal(timed.take(0, 0), true)
    assert.equal(timed.take(0, 0), false)
    assert.equal(timed.take(1_000, 0), true)
  })

  it('counts each call and each moment once', () => {
    const budget = new RetryBudget({ ratio: 0.25, perSecond: 0 }, 0)
    const taken = Array.from({ length: 40 }, (_, n) => budget.take(0, n + 1))
    assert.equal(taken.indexOf(true), 3)
    assert.equal(taken.filter((was) => was).length, 10)
    const timed = new RetryBudget({ ratio: 0, perSecond: 1 }, 5_000)
    for (let n = 0; n < 10; n++) assert.equal(timed.take(5_000, 0), true)
    const later = Array.from({ length: 40 }, (_, n) => timed.take(5_000 + (n + 1) * 250, 0))
    assert.equal(later.indexOf(true), 3)
    assert.equal(later.filter((was) => was).length, 10)
  })

  it('earns nothing where the number of calls does not grow', () => {
    const budget = new RetryBudget({ ratio: 1, perSecond: 0 }, 0)
    assert.equal(budget.take(0, 1), true)
    for (let n = 0; n < 10; n++) assert.equal(budget.take(0, 1), false)
  })

  it('keeps no more than those of 10 s and of 1,000 calls', () => {
    const budget = new RetryBudget({ ratio: 0.5, perSecond: 3 }, 0)
    assert.equal(budget.capacity, 530)
    let taken = 0
    while (budget.take(3_600_000, 1_000_000)) taken++
    assert.equal(taken, 530)
  })
})
