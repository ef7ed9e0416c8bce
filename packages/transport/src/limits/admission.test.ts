/** What is counted as work in flight, and who may go on when some of it ends. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { from, NEVER, of, Subject } from 'rxjs'
import { IncomingMessage, NO_HANDLER } from '../dispatch.ts'
import { consume, isStream } from '../result.ts'
import { AdaptiveConcurrency } from './adaptive-concurrency.ts'
import { Admission } from './admission.ts'

const CONNECTION = { remoteAddress: undefined, remotePort: undefined, onClose: () => () => {} }
const MESSAGE = new IncomingMessage('p', 'p', 1, undefined, CONNECTION, 'request')

/** An admission, and what it makes of the result of a handler. */
function counting(maxTotalInFlight = 10, adaptive?: AdaptiveConcurrency) {
  const admission = new Admission({ maxTotalInFlight, adaptive, now: () => 0, afterTurn() {} })
  const request = (result: () => unknown) =>
    admission.around({ request: result, event() {} }).request(MESSAGE)
  const event = (result: () => void | Promise<void>) =>
    admission.around({ request: () => 1, event: result }).event(MESSAGE)
  return { admission, request, event }
}

const microtasks = async () => {
  for (let turn = 0; turn < 5; turn++) await undefined
}

/** Takes a stream to its end, or until it is left. */
function take(stream: unknown) {
  const values: unknown[] = []
  assert.ok(typeof stream === 'object' && stream !== null && isStream(stream))
  let end!: (how: unknown) => void
  const ended = new Promise((resolve) => {
    end = resolve
  })
  const leave = consume(stream, {
    next: (value) => values.push(value),
    complete: () => end('complete'),
    error: (error) => end(error)
  })
  return { values, ended, leave }
}

describe('work in flight', () => {
  it('is not what ends in its turn', () => {
    const { admission, request, event } = counting()
    assert.equal(
      request(() => 5),
      5
    )
    assert.equal(
      request(() => NO_HANDLER),
      NO_HANDLER
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
    const { admission, request, event } = counting()
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
    const { admission, request } = counting()
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
    const { request } = counting()
    let made = 0
    const stream = request(function* () {
      while (true) yield made++
    }) as object
    const leave = consume(stream, {
      next() {},
      complete() {},
      error() {},
      ready: () => (made < 3 ? undefined : new Promise(() => {}))
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(made, 3)
    leave()
  })

  it('does not count streams against the adaptive limit', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 2, min: 2, max: 2 })
    const { admission, request } = counting(0, adaptive)
    for (let count = 0; count < 5; count++) take(request(() => NEVER))
    assert.equal(admission.room, 2)
    void request(() => new Promise(() => {}))
    void request(() => new Promise(() => {}))
    assert.match(String(admission.refusal()), /2 requests are in flight, as many as it can serve/)
  })
})

describe('room for work', () => {
  it('goes to those who wait longest, one for one, in a later turn', async () => {
    const { admission, request } = counting(2)
    const ends: ((value: unknown) => void)[] = []
    const begin = () => void request(() => new Promise((resolve) => ends.push(resolve)))
    begin()
    begin()
    assert.match(String(admission.refusal()), /maxTotalInFlight allows \(2\)/)
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
    const { admission } = counting(1)
    let called = 0
    admission.whenFree(() => called++)
    await microtasks()
    assert.equal(called, 1)
  })

  it('is shared by connections with leases, at least one for each while there is any', () => {
    const { admission, request } = counting(10)
    admission.leaseHolders = 4
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
        fc.array(fc.oneof(fc.constant('begin' as const), fc.nat(20)), { maxLength: 60 }),
        async (steps) => {
          const { admission, request } = counting(5)
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
