/** Which failed calls are made again, and when. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CanceledError,
  ConnectionError,
  OverloadedError,
  RejectedError,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import { type FailedCall, isEndpointFailure, RetryPolicy } from './retry-policy.ts'

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
  it('are made again as often as is allowed, after growing pauses', () => {
    const policy = newPolicy()
    assert.deepEqual(
      [0, 1, 2, 3].map((retries) => policy.pause(call({ retries }), UNSENT, false, 0, 0)),
      [50, 75, undefined, undefined]
    )
  })

  it('are made again at once elsewhere, the first time', () => {
    const policy = newPolicy()
    assert.deepEqual(
      [0, 1, 2].map((retries) => policy.pause(call({ retries }), UNSENT, true, 0, 0)),
      [0, 75, undefined]
    )
  })

  it('are made again only if their time is not over by then', () => {
    const policy = newPolicy()
    const pauseOf = (deadline: number) => policy.pause(call({ deadline }), UNSENT, false, 1_000, 0)
    assert.equal(pauseOf(1_051), 50)
    assert.equal(pauseOf(1_050), undefined)
    assert.equal(pauseOf(1_000), undefined)
  })

  it('are made again only if they have not run, or may run twice', () => {
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

  it('are not made again when a value has come, or their own values have left', () => {
    const input = { stopped: false, start() {}, requestN() {}, resume() {}, stop() {} }
    for (const error of [UNSENT, REJECTED]) {
      assert.equal(newPolicy().pause(call({ isAnswered: true }), error, false, 0, 0), undefined)
      assert.equal(newPolicy().pause(call({ input }), error, false, 0, 0), undefined)
    }
  })

  it('are made again within the budget, and it is told when that is used up', () => {
    let exhausted = 0
    const policy = newPolicy(() => exhausted++)
    const pauses = Array.from({ length: 12 }, () => policy.pause(call(), UNSENT, false, 0, 0))
    assert.deepEqual(pauses, [...Array(10).fill(50), undefined, undefined])
    assert.equal(exhausted, 2)
    // What is not made again anyway takes nothing.
    assert.equal(policy.pause(call({ retries: 2 }), UNSENT, false, 0, 0), undefined)
    assert.equal(exhausted, 2)
    assert.equal(policy.pause(call(), UNSENT, false, 1_000, 0), 50)
  })

  it('fail, if none are to be made again', () => {
    const policy = new RetryPolicy(undefined, 0, Math.random, assert.fail)
    assert.equal(policy.pause(call(), UNSENT, true, 0, 0), undefined)
  })

  it('speak against their endpoint if it could not be reached, was too late or refused them', () => {
    for (const error of [UNSENT, SENT, REJECTED, new TimeoutError('p', 1, true)])
      assert.equal(isEndpointFailure(error), true)
    for (const error of [
      new OverloadedError('full'),
      new CanceledError('p', undefined, true),
      new Error('no')
    ])
      assert.equal(isEndpointFailure(error), false)
  })
})
