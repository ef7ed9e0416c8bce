import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Discard, PatternNotFoundError, RetryLater, ValidationError } from '../errors/index.ts'
import { ErrorAnswer, EventHandlersError } from '../failure.ts'
import { durableSettings } from './options.ts'
import { GivenUp, outcomeOf, reasonToGiveUp } from './outcome.ts'

const SETTINGS = durableSettings({ retry: { attempts: 3, minDelay: 100, factor: 3, maxDelay: 500 } })
const outcome = (error: unknown, attempt = 1) => {
  const { kind, ...rest } = outcomeOf(error, attempt, SETTINGS)
  return 'delay' in rest ? [kind, rest.delay] : [kind]
}

describe('the outcome of a durable event', () => {
  it('is another attempt after a growing pause, and a dead letter after the last one', () => {
    const error = new Error('no')
    assert.deepEqual(
      [1, 2, 3, 4].map((attempt) => outcome(error, attempt)),
      [['retry', 100], ['retry', 300], ['dead'], ['dead']]
    )
    const patient = durableSettings({ retry: { attempts: 1e6, factor: 10 } })
    assert.deepEqual(outcomeOf(error, 1e5, patient), { kind: 'retry', delay: 60_000, reason: 'Error: no' })
  })

  it('is what the handler says, whatever the attempt', () => {
    assert.deepEqual(outcome(new Discard('no'), 9), ['discard'])
    assert.deepEqual(outcome(new RetryLater(7), 9), ['retry', 7])
    assert.deepEqual(outcome(new ErrorAnswer(new RetryLater(7)), 9), ['retry', 7])
    assert.deepEqual(outcome({ getError: () => new Discard() }), ['discard'])
    assert.throws(() => new RetryLater(Number.NaN), /milliseconds/)
  })

  it('is a dead letter at once where another attempt cannot help', () => {
    assert.deepEqual(outcome(new ValidationError('data', 'a number', 'x')), ['dead'])
    assert.deepEqual(outcome(PatternNotFoundError.of('p')), ['dead'])
    // A validation error that comes from another service may go away, so the event is retried.
    assert.deepEqual(outcome(new ValidationError('data', 'a number', 'x', 'no', { details: {} })), [
      'retry',
      100
    ])
  })

  it('of several handlers is that of the one that needs most', () => {
    const all = (...errors: unknown[]) => outcome(new EventHandlersError(errors))
    assert.deepEqual(all(new Discard(), new Discard()), ['discard'])
    assert.deepEqual(all(new Discard(), new RetryLater(7), new RetryLater(9)), ['retry', 9])
    assert.deepEqual(all(new RetryLater(7), new Error('no')), ['retry', 100])
    assert.deepEqual(all(new Discard(), PatternNotFoundError.of('p')), ['dead'])
  })

  it('has a reason that can be read, also for what is no Error', () => {
    const reason = (error: unknown) => outcomeOf(error, 1, SETTINGS).reason
    assert.equal(reason(new TypeError('no')), 'TypeError: no')
    assert.equal(reason({ message: 'no' }), 'no')
    assert.equal(reason('no'), 'no')
    assert.equal(reason({ status: 'error', code: 404 }), '{"status":"error","code":404}')
    // No database keeps these, and they would be in the way of all that is written with them.
    assert.equal(reason('a\0\uD83D\n'), 'a\uFFFD\uFFFD\n')
    assert.equal(reason(`${'a'.repeat(999)}🙂`).at(-1), '\uFFFD')
    assert.equal(reason({ message: { code: 404 } }), '{"message":{"code":404}}')
    assert.equal(reason(new ErrorAnswer({ code: 404 })), '{"code":404}')
    const ofNest = Object.assign(new Error('Rpc Exception'), { getError: () => ({ code: 404 }) })
    assert.equal(reason(ofNest), '{"code":404}')
    assert.equal(reason(Object.assign(new Error('no'), { getError: () => 'no' })), 'Error: no')
    const circular: { self?: unknown } = {}
    circular.self = circular
    assert.equal(reason(circular), 'An error that cannot be read')
    assert.equal(reason(Object.assign(new Error(), { message: { code: 1 } })), 'Error: {"code":1}')
  })

  it('exists for whatever is thrown', () => {
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const angry = new Proxy(new Error('x'), {
      get() {
        throw new Error('no')
      }
    })
    const hostile = [revoked.proxy, angry, Object.create(null), Symbol('s'), 1n, { getError: () => angry }]
    const isRetried = (thrown: unknown) => {
      const { kind, reason } = outcomeOf(thrown, 1, SETTINGS)
      assert.equal(kind, 'retry')
      assert.ok(reason.length <= 1_000)
    }
    for (const thrown of hostile) isRetried(thrown)
    fc.assert(fc.property(fc.anything(), isRetried))
  })

  it('is that of a process which ends again and again after many deliveries', () => {
    assert.equal(reasonToGiveUp(23, SETTINGS), undefined)
    assert.match(reasonToGiveUp(24, SETTINGS) ?? '', /has begun 23 times/)
  })

  it("is a dead letter when its engine has given it up, for the engine's reason alone", () => {
    assert.deepEqual(outcomeOf(new GivenUp('why'), 1, SETTINGS), { kind: 'dead', reason: 'why' })
  })
})
