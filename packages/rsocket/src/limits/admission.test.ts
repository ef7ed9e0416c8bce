/** Tests the count of work in flight, and the order in which waiting connections are called when work ends. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  consume,
  type Dispatcher,
  IncomingMessage,
  isStreamOfValues,
  PatternNotFoundError,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { from, NEVER, of, Subject } from 'rxjs'
import { AdaptiveConcurrency } from './adaptive-concurrency.ts'
import { Admission } from './admission.ts'
import { counting } from './counting.ts'

const messageOf = (kind: 'request' | 'event') =>
  new IncomingMessage({ transport: 'tcp', kind, pattern: 'p', route: 'p', data: 1 })

/** Makes an admission, and an around that counts requests in it. */
function admitting(maxInFlight = 10, adaptive?: AdaptiveConcurrency) {
  const admission = new Admission({ maxInFlight, adaptive, now: () => 0, afterTurn() {} })
  const around = (dispatcher: Pick<Dispatcher, 'request' | 'event'>) =>
    wrapDispatcher({ routes: () => [], ...dispatcher }, [counting(admission)])
  const request = (result: () => unknown) =>
    around({ request: result, event() {} }).request(messageOf('request'))
  const event = (result: () => void | Promise<void>) =>
    around({ request: () => 1, event: result }).event(messageOf('event'))
  return { admission, request, event }
}

const microtasks = async () => {
  for (let turn = 0; turn < 5; turn++) await undefined
}

/** Reads a stream to its end, or until the test leaves it. */
function take(stream: unknown) {
  const values: unknown[] = []
  assert.ok(isStreamOfValues(stream))
  let end!: (how: unknown) => void
  const ended = new Promise((resolve) => {
    end = resolve
  })
  const source = consume(stream, {
    next: (value) => values.push(value) > 0,
    complete: () => end('complete'),
    error: (error) => end(error),
    teardownFailed: assert.fail
  })
  source.resume()
  return { values, ended, leave: () => source.cancel() }
}

describe('work in flight', () => {
  it('is not what ends in its turn', () => {
    const { admission, request, event } = admitting()
    assert.equal(
      request(() => 5),
      5
    )
    assert.throws(
      () =>
        request(() => {
          throw PatternNotFoundError.of('p')
        }),
      { name: 'PatternNotFoundError', received: undefined }
    )
    assert.throws(
      () =>
        request(() => {
          throw new Error('no')
        }),
      /no/
    )
    assert.equal(
      event(() => {}),
      undefined
    )
    assert.equal(admission.inFlight, 0)
  })

  it('is a promise until it settles, whichever way, and an event until its handlers have ended', async () => {
    const { admission, request, event } = admitting()
    const good = request(() => Promise.resolve(1))
    const bad = request(() => Promise.reject(new Error('no')))
    let end!: () => void
    const ran = event(() => new Promise<void>((resolve) => (end = resolve)))
    assert.equal(admission.inFlight, 3)
    assert.equal(await good, 1)
    await assert.rejects(bad as Promise<unknown>, /no/)
    assert.equal(admission.inFlight, 1)
    end()
    await ran
    assert.equal(admission.inFlight, 0)
  })

  it('is a stream while it is taken: to its end, to its failure, until it is left', async () => {
    const { admission, request } = admitting()
    const whole = take(request(() => from([1, 2, 3])))
    assert.deepEqual(whole.values, [1, 2, 3])
    assert.equal(admission.inFlight, 0)
    const failing = new Subject()
    const failed = take(await request(async () => failing))
    assert.equal(admission.inFlight, 1)
    failing.error('why')
    assert.equal(await failed.ended, 'why')
    assert.equal(admission.inFlight, 0)
    const endless = take(request(() => NEVER))
    assert.equal(admission.inFlight, 1)
    endless.leave()
    endless.leave()
    assert.equal(admission.inFlight, 0)
    const generator = take(
      request(async function* () {
        yield 1
        yield 2
      })
    )
    assert.equal(await generator.ended, 'complete')
    assert.deepEqual(generator.values, [1, 2])
    assert.equal(admission.inFlight, 0)
  })

  it('lets a generator be slowed by who takes it', async () => {
    const { request } = admitting()
    let made = 0
    const stream = request(function* () {
      while (true) yield made++
    }) as object
    const source = consume(stream, {
      next: () => made < 3,
      complete: assert.fail,
      error: assert.fail,
      teardownFailed: assert.fail
    })
    source.resume()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(made, 3)
    source.resume()
    assert.equal(made, 4)
    source.cancel()
  })

  it('does not count streams against the adaptive limit', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 2, min: 2, max: 2 })
    const { admission, request } = admitting(Number.POSITIVE_INFINITY, adaptive)
    for (let count = 0; count < 5; count++) take(request(() => NEVER))
    assert.equal(admission.room, 2)
    void request(() => new Promise(() => {}))
    void request(() => new Promise(() => {}))
    assert.match(String(admission.refusal()), /2 requests are in flight, as many as it can answer in time/)
    assert.equal(adaptive.inFlight, 2)
  })

  it('is told to the adaptive limit, its end too', async () => {
    const adaptive = new AdaptiveConcurrency({ initial: 2, min: 2, max: 2 })
    const { admission, request } = admitting(Number.POSITIVE_INFINITY, adaptive)
    const answered = request(() => Promise.resolve(1))
    assert.deepEqual([adaptive.inFlight, admission.room], [1, 1])
    await answered
    assert.deepEqual([adaptive.inFlight, admission.room], [0, 2])
  })
})

describe('room for work', () => {
  it('has no room in a turn that has taken as long as it may, and then says why', () => {
    let now = 0
    let endTurn = () => {}
    const admission = new Admission({
      maxInFlight: 10,
      adaptive: new AdaptiveConcurrency({ initial: 5, min: 1, max: 10 }),
      now: () => now,
      afterTurn: (task) => {
        endTurn = task
      }
    })
    assert.equal(admission.room, 5)
    assert.equal(admission.refusal(), undefined)
    now = 50
    assert.equal(admission.room, 0)
    assert.match(admission.refusal() ?? '', /its handlers compute without a pause/)
    endTurn()
    assert.equal(admission.room, 5)
  })

  it('goes to those who wait longest, one for one, in a later turn', async () => {
    const { admission, request } = admitting(2)
    const ends: ((value: unknown) => void)[] = []
    const begin = () => void request(() => new Promise((resolve) => ends.push(resolve)))
    begin()
    begin()
    assert.match(String(admission.refusal()), /limits\.inFlight allows \(2\)/)
    const woken: string[] = []
    for (const name of ['a', 'b', 'c'])
      admission.whenFree(() => {
        woken.push(name)
        begin()
      })
    assert.equal(admission.waiting, 3)
    ends.shift()?.(1)
    assert.deepEqual(woken, [])
    await microtasks()
    assert.deepEqual(woken, ['a'])
    ends.shift()?.(1)
    ends.shift()?.(1)
    await microtasks()
    assert.deepEqual(woken, ['a', 'b', 'c'])
    assert.equal(admission.room, 0)
  })

  it('is never promised twice: those who ask when there is some are called as well', async () => {
    const { admission } = admitting(1)
    let called = 0
    admission.whenFree(() => called++)
    await microtasks()
    assert.equal(called, 1)
  })

  it('is there again when a stream ends', async () => {
    const { admission, request } = admitting(1)
    const stream = take(request(() => NEVER))
    let called = 0
    admission.whenFree(() => called++)
    await microtasks()
    assert.equal(called, 0)
    stream.leave()
    await microtasks()
    assert.equal(called, 1)
  })

  it('is offered once a pass to one who queues again, however much there is', async () => {
    const { admission } = admitting(10)
    const calls: string[] = []
    const again = (name: string) => () => {
      calls.push(name)
      if (calls.filter((one) => one === name).length < 3) admission.whenFree(again(name))
    }
    for (const name of ['a', 'b']) admission.whenFree(again(name))
    await undefined
    assert.deepEqual(calls, ['a', 'b'])
    await microtasks()
    assert.deepEqual(calls, ['a', 'b', 'a', 'b', 'a', 'b'])
  })

  it('is shared by connections with leases, at least one for each while there is any', () => {
    const { admission, request } = admitting(10)
    assert.equal(admission.share, 10)
    admission.leaseHolders++
    assert.equal(admission.share, 10)
    admission.leaseHolders += 3
    assert.equal(admission.share, 3)
    for (let count = 0; count < 9; count++) take(request(() => NEVER))
    assert.equal(admission.share, 1)
    take(request(() => NEVER))
    assert.equal(admission.share, 0)
    for (let count = 0; count < 3; count++) take(request(() => of(1)))
    assert.equal(admission.inFlight, 10)
  })

  it('is the limit less what is in flight, whatever begins and ends [property]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constant('begin' as const), fc.nat(20)), { maxLength: 60, size: 'max' }),
        async (steps) => {
          const { admission, request } = admitting(5)
          const ends: (() => void)[] = []
          for (const step of steps) {
            if (step === 'begin') void request(() => new Promise<void>((resolve) => ends.push(resolve)))
            else ends.splice(step % Math.max(1, ends.length), 1)[0]?.()
            await microtasks()
            assert.equal(admission.inFlight, ends.length)
            assert.equal(admission.room, Math.max(0, 5 - ends.length))
            assert.equal(admission.refusal() === undefined, admission.room > 0)
          }
        }
      )
    )
  })
})
