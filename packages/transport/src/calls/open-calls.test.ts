/** Tests of the life of calls, with a sender that records what it is told to send. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onPush, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import type { CallOptions, CallReceiver } from '../call.ts'
import {
  CanceledError,
  ConnectionError,
  MicroserviceError,
  OptionError,
  OverloadedError,
  RejectedError,
  RpcError,
  TimeoutError
} from '../errors/index.ts'
import { Notices } from '../notices.ts'
import { ManualTimer } from '../testing/manual-timer.ts'
import { MAX_WAITING, OpenCalls } from './open-calls.ts'
import type { CallSender, OpenCallsInit } from './open-calls-init.ts'
import { type CallKind, type PendingCall, PendingRequest, PendingStream } from './pending-call.ts'
import { DEFAULT_RETRY, RetryPolicy } from './retry-policy.ts'

const lost = (mayHaveRun: boolean) => new ConnectionError('lost', mayHaveRun)
const closed = (mayHaveRun: boolean) => new ConnectionError('closed', mayHaveRun)

/** Records the outcome of a call, in order: values, 'complete', errors. */
class Outcome implements CallReceiver {
  readonly seen: unknown[] = []
  /** Number of times that the call has settled. */
  settled = 0

  next(value: unknown): void {
    assert.equal(this.settled, 0, 'a value came after the end')
    this.seen.push(value)
  }

  complete(): void {
    this.settled++
    this.seen.push('complete')
  }

  error(error: Error): void {
    this.settled++
    this.seen.push(error)
  }

  /** Records the end of a request or an event. */
  readonly resolve = (value: unknown): void => {
    if (value instanceof Promise) {
      // The promise rejects with an error that `failed` of the call has already recorded.
      value.catch(() => {})
    } else this.complete()
  }
}

class WatchedRequest extends PendingRequest {
  outcome: Outcome | undefined

  protected override failed(error: Error): void {
    this.outcome?.error(error)
    super.failed(error)
  }
}

/** A sender that records what it sends, and whose connection a test makes and cuts. */
class Sender implements CallSender {
  calls!: OpenCalls
  isConnected = true
  readonly log: string[] = []
  /** The calls that this sender has sent. */
  readonly kept = new Set<PendingCall>()
  /** Called before a call is sent; a test makes it throw. */
  refuse: (call: PendingCall) => void = () => {}

  send(call: PendingCall): void {
    this.refuse(call)
    if (!this.isConnected) return this.calls.wait(call)
    this.calls.add(call)
    call.mayHaveRun = true
    this.kept.add(call)
    this.log.push(`${call.name} is sent`)
  }

  cancel(call: PendingCall): void {
    this.log.push(`${call.name} is cancelled`)
  }

  demand(call: PendingCall, n: number): void {
    this.log.push(`${call.name} wants ${n}`)
  }

  over(call: PendingCall): void {
    this.kept.delete(call)
  }
}

function newCalls(init: Partial<OpenCallsInit> = {}) {
  const sender = new Sender()
  const timer = new ManualTimer()
  const calls = new OpenCalls({ sender, timer, timeout: 0, ...init })
  timer.owner = calls
  sender.calls = calls
  let count = 0
  const start = (kind: CallKind = 'request', options?: CallOptions, pattern = `${kind} ${++count}`) => {
    const outcome = new Outcome()
    let call: PendingCall
    if (kind === 'stream') call = new PendingStream(pattern, undefined, outcome, options, undefined, 1024)
    else {
      const request = new WatchedRequest(pattern, kind, undefined, options, outcome.resolve)
      request.outcome = outcome
      call = request
    }
    calls.start(call)
    return { call, outcome }
  }
  return { calls, sender, timer, start }
}

const retrying = () => new RetryPolicy(DEFAULT_RETRY, 0, () => 0.5)

describe('a call that waits for a connection', () => {
  const missing = (time: number) =>
    time === 0 ? 'No connection' : `No connection within ${time} ms (waitForConnection)`

  for (const [name, init, options, time] of [
    ["waits no longer than the client's option", { waitForConnection: 50 }, undefined, 50],
    ['waits as long as its own option', { waitForConnection: 50 }, { waitForConnection: 70 }, 70],
    ['has not to wait at all', {}, { waitForConnection: 0 }, 0]
  ] as const)
    it(`${name}, and is not retried`, () => {
      const { timer, sender, start } = newCalls({ timeout: 1_000, retries: retrying(), ...init })
      sender.isConnected = false
      const { outcome } = start('request', options)
      if (time > 0) timer.advance(time - 1)
      assert.deepEqual(outcome.seen, [])
      timer.advance(1)
      const error: unknown = outcome.seen.at(-1)
      assert.ok(error instanceof ConnectionError)
      assert.deepEqual([error.message, error.mayHaveRun, error.retryable], [missing(time), false, true])
    })

  it('has its deadline and no other limit once it is sent', () => {
    const { calls, timer, sender, start } = newCalls({ timeout: 1_000, waitForConnection: 50 })
    sender.isConnected = false
    const { outcome } = start()
    timer.advance(30)
    sender.isConnected = true
    calls.release()
    timer.advance(900)
    assert.equal(outcome.settled, 0)
    timer.advance(100)
    assert.ok(outcome.seen[0] instanceof TimeoutError)
  })

  it('waits for the first connection until that is made or has failed', () => {
    const { calls, timer, sender, start } = newCalls({ timeout: 1_000, waitForConnection: 0 })
    sender.refuse = (call) => {
      if (sender.isConnected) return
      calls.wait(call, undefined, true)
      sender.isConnected = true
    }
    sender.isConnected = false
    const send = sender.send.bind(sender)
    sender.send = (call) => (sender.isConnected ? send(call) : sender.refuse(call))
    const { outcome } = start()
    timer.advance(500)
    assert.deepEqual(outcome.seen, [])
    calls.release()
    assert.deepEqual(sender.log, ['request 1 is sent'])
  })

  it('has its deadline if that is sooner', () => {
    const { timer, sender, start } = newCalls({ timeout: 20, waitForConnection: 50 })
    sender.isConnected = false
    const { outcome } = start()
    timer.advance(20)
    assert.ok(outcome.seen[0] instanceof TimeoutError)
  })

  it('needs a time that is one', () => {
    const { start } = newCalls()
    const { outcome } = start('request', { waitForConnection: -1 })
    assert.match(String(outcome.seen[0]), /options\.waitForConnection must be milliseconds/)
  })
})

describe('open calls', () => {
  it('are sent at once, found by their numbers, and gone when they are answered', () => {
    const { calls, sender, start } = newCalls()
    const { call, outcome } = start()
    assert.equal(calls.get(call.sequence), call)
    assert.equal(calls.inFlight, 1)
    calls.value(call, 5, 1)
    assert.deepEqual([outcome.settled, calls.inFlight, calls.get(call.sequence)], [1, 0, undefined])
    assert.equal(sender.kept.size, 0)
    // Answers that arrive after the end of the call change nothing.
    calls.value(call, 6, 1)
    calls.complete(call)
    calls.fail(call, new RpcError('late'))
    calls.giveUp(call, new RpcError('late'))
    assert.equal(outcome.settled, 1)
  })

  onPush(it)('wait for a connection, in order, 65,536 at most', () => {
    const { calls, sender, start } = newCalls()
    sender.isConnected = false
    const first = start('event')
    const second = start('stream')
    assert.deepEqual([calls.isWaiting(first.call), first.call.isDelayed], [true, true])
    second.call.holder?.demand(second.call, 5)
    sender.isConnected = true
    calls.release()
    assert.deepEqual(sender.log, ['event 1 is sent', 'stream 2 is sent'])
    sender.isConnected = false
    for (let n = 0; n < MAX_WAITING; n++) start('request', undefined, 'many')
    const { outcome } = start('request', undefined, 'one too many')
    const [error] = outcome.seen
    assert.ok(error instanceof OverloadedError)
    assert.match(error.message, /^65536 calls already wait;/)
    assert.deepEqual(
      [error.pattern, error.mayHaveRun, calls.inFlight],
      ['one too many', false, MAX_WAITING + 2]
    )
    calls.failWaiting(lost)
    assert.equal(calls.inFlight, 2)
  })

  it('are released as long as there is room for them', () => {
    const { calls, sender, start } = newCalls()
    sender.isConnected = false
    start()
    const ended = start()
    start()
    start()
    sender.isConnected = true
    let room = 2
    sender.refuse = ({ name }) => {
      // A call that is sent may end another call that waits behind it.
      if (name === 'request 1') calls.cancel(ended.call)
    }
    calls.release(() => room-- > 0)
    assert.deepEqual([sender.log, calls.inFlight], [['request 1 is sent'], 3])
    calls.release()
    assert.deepEqual(sender.log.length, 3)
  })

  it('end when their time is over: the other side is told of those it was sent', () => {
    const { calls, sender, timer, start } = newCalls({
      timeout: 100,
      unreached: ({ timeout, mayHaveRun }) => new ConnectionError(`none in ${timeout}`, mayHaveRun)
    })
    const sent = start()
    const patient = start('request', { timeout: false })
    sender.isConnected = false
    const waiting = start()
    timer.advance(99)
    assert.equal(calls.inFlight, 3)
    timer.advance(1)
    const [late] = sent.outcome.seen
    assert.ok(late instanceof TimeoutError)
    assert.deepEqual([late.mayHaveRun, late.timeout, late.pattern], [true, 100, 'request 1'])
    assert.equal((waiting.outcome.seen[0] as ConnectionError).message, 'none in 100')
    assert.equal((waiting.outcome.seen[0] as ConnectionError).mayHaveRun, false)
    assert.deepEqual(sender.log.slice(2), ['request 1 is cancelled'])
    assert.deepEqual([patient.outcome.settled, timer.at], [0, Number.POSITIVE_INFINITY])
  })

  it('that are streams have all the time they like behind their first value, or their lifetime', () => {
    const { calls, sender, timer, start } = newCalls({ timeout: 100 })
    const endless = start('stream')
    const living = start('stream', { lifetime: 250 })
    const ended = start('stream', { lifetime: 250 })
    for (const { call } of [endless, living, ended]) calls.value(call, 1, 1)
    calls.complete(ended.call)
    timer.advance(249)
    calls.value(living.call, 2, 1)
    assert.deepEqual(living.outcome.seen, [1, 2])
    timer.advance(1)
    const late: unknown = living.outcome.seen.at(-1)
    assert.ok(late instanceof TimeoutError)
    assert.deepEqual(
      [late.message, late.timeout, late.mayHaveRun],
      ["No end of the answer to 'stream 2' within 250 ms", 250, true]
    )
    timer.advance(10_000)
    assert.deepEqual([endless.outcome.seen, ended.outcome.seen], [[1], [1, 'complete']])
    assert.deepEqual(
      sender.log.filter((line) => line.endsWith('cancelled')),
      ['stream 2 is cancelled']
    )
  })

  it('have their lifetime for the first value, too, if it is shorter than their timeout, or there is none', () => {
    const { timer, start } = newCalls({ timeout: 100 })
    const all = [
      start('stream', { lifetime: 20 }),
      start('request', { lifetime: 20 }),
      start('stream', { lifetime: 20, timeout: false })
    ]
    timer.advance(19)
    assert.deepEqual(
      all.map(({ outcome }) => outcome.settled),
      [0, 0, 0]
    )
    timer.advance(1)
    for (const { call, outcome } of all)
      assert.equal((outcome.seen[0] as Error).message, `No answer to '${call.name}' within 20 ms`)
  })

  it('share their lifetime among their attempts, and tell the other side what is left of it', () => {
    const { calls, timer, start } = newCalls({ timeout: 0, retries: retrying() })
    const { call, outcome } = start('stream', { lifetime: 1_000 / 3 })
    assert.equal(call.lifetimeLeft(timer), 334)
    timer.advance(10)
    calls.fail(call, new RejectedError('busy'))
    timer.advance(100)
    assert.equal(call.lifetimeLeft(timer), 224)
    calls.value(call, 1, 1)
    timer.advance(224)
    assert.ok(outcome.seen.at(-1) instanceof TimeoutError)
    assert.equal(start('stream').call.lifetimeLeft(timer), undefined)
    assert.match(
      String(start('stream', { lifetime: 0 }).outcome.seen[0]),
      /options\.lifetime must be milliseconds/
    )
    assert.match(String(start('event', { lifetime: 5 }).outcome.seen[0]), /options\.lifetime/)
  })

  it('are given up with their signal, and leave it', () => {
    const { calls, sender, start } = newCalls()
    const controller = new AbortController()
    const { signal } = controller
    let listeners = 0
    const watched = {
      get aborted() {
        return signal.aborted
      },
      get reason() {
        return signal.reason as unknown
      },
      addEventListener(...args: Parameters<typeof signal.addEventListener>) {
        listeners++
        signal.addEventListener(...args)
      },
      removeEventListener(...args: Parameters<typeof signal.removeEventListener>) {
        listeners--
        signal.removeEventListener(...args)
      }
    } as AbortSignal
    const answered = start('request', { signal: watched })
    calls.value(answered.call, 1, 1)
    assert.equal(listeners, 0)
    const sent = start('stream', { signal: watched })
    sender.isConnected = false
    const waiting = start('request', { signal: watched })
    assert.equal(listeners, 2)
    controller.abort('why')
    for (const [{ outcome }, mayHaveRun] of [
      [sent, true],
      [waiting, false]
    ] as const) {
      const [error] = outcome.seen
      assert.ok(error instanceof CanceledError)
      assert.deepEqual([error.mayHaveRun, error.cause, outcome.settled], [mayHaveRun, 'why', 1])
    }
    assert.deepEqual([listeners, calls.inFlight, sender.log.at(-1)], [0, 0, 'stream 2 is cancelled'])
    const late = start('request', { signal: watched })
    assert.ok(late.outcome.seen[0] instanceof CanceledError)
    assert.equal(listeners, 0)
  })

  it('fail with what hinders them from being sent, and with nothing of a stranger', () => {
    const { sender, start } = newCalls()
    sender.refuse = () => {
      throw new Error('a getter')
    }
    const [error] = start().outcome.seen
    assert.ok(error instanceof OptionError)
    assert.equal((error.cause as Error).message, 'a getter')
  })

  it('end when a receiver throws, and the other side is told', () => {
    const { calls, sender, start } = newCalls()
    const { call, outcome } = start('stream')
    outcome.next = () => {
      throw new Error('mine')
    }
    calls.value(call, 1, 1)
    assert.deepEqual(
      [(outcome.seen[0] as Error).message, sender.log.at(-1)],
      ['mine', 'stream 1 is cancelled']
    )
  })

  it('ask for more values while their reader takes them', () => {
    const { calls, sender, start } = newCalls()
    const { call } = start('stream')
    for (let n = 0; n < 128; n++) calls.value(call, n, 1)
    assert.match(sender.log[1] ?? '', /^stream 1 wants \d+$/)
    calls.cancel(call)
    calls.demand(call, 5)
    assert.deepEqual(sender.log.slice(2), ['stream 1 is cancelled'])
  })

  it('name the server they were sent to when they fail', () => {
    const { calls, start } = newCalls({ endpoint: () => 'here:1' })
    const { call, outcome } = start()
    calls.fail(call, new RpcError('no'))
    const [error] = outcome.seen as RpcError[]
    assert.deepEqual([error?.endpoint, error?.pattern], ['here:1', 'request 1'])
  })

  it('that are kept have no number: events until they have left', () => {
    const { calls, sender, start } = newCalls()
    sender.send = (call) => calls.keep(call)
    const event = start('event')
    const channel = start('request')
    assert.equal(calls.inFlight, 2)
    calls.taken()
    assert.deepEqual([event.outcome.seen, channel.outcome.seen], [['complete'], []])
    calls.add(channel.call)
    assert.equal(calls.get(channel.call.sequence), channel.call)
    calls.keep(channel.call)
    assert.equal(calls.get(channel.call.sequence), undefined)
    assert.equal(calls.inFlight, 1)
    calls.lost(lost)
    assert.equal(calls.inFlight, 0)
  })

  it('give a number back that was not used', () => {
    const { calls, sender, start } = newCalls()
    sender.refuse = (call) => {
      calls.add(call)
      calls.takeBack(call)
      throw new OverloadedError('full')
    }
    start()
    assert.equal(calls.inFlight, 0)
    sender.refuse = () => {}
    assert.equal(start().call.sequence, 1)
  })

  it('say when none is left', () => {
    let idle = 0
    const { calls, start } = newCalls({ idle: () => idle++ })
    const [one, two] = [start(), start()]
    calls.complete(one.call)
    assert.equal(idle, 0)
    calls.complete(two.call)
    assert.equal(idle, 1)
  })

  it('fail when they are closed, each with an error of its own, and so do those that come later', () => {
    const { calls, sender, timer, start } = newCalls({ timeout: 1_000, retries: retrying() })
    const sent = start()
    sender.isConnected = false
    const waiting = start('request', { idempotent: true })
    calls.close(closed, true)
    const late = start()
    const errors = [sent, waiting, late].map(({ outcome }) => outcome.seen[0] as ConnectionError)
    assert.equal(new Set(errors).size, 3)
    assert.deepEqual(
      errors.map(({ message, mayHaveRun }) => [message, mayHaveRun]),
      [
        ['closed', true],
        ['closed', false],
        ['closed', false]
      ]
    )
    assert.deepEqual(sender.log.slice(1), ['request 1 is cancelled'])
    assert.deepEqual([calls.inFlight, timer.at], [0, Number.NEGATIVE_INFINITY])
  })
})

describe('calls that failed', () => {
  it('are retried after a pause, if they have not run or may run twice, with a number of their own', () => {
    const heard: unknown[] = []
    const notices = new Notices({ error() {}, warn() {} })
    notices.listen(
      (event) => void heard.push(event.type === 'retry' ? [event.endpoint, event.attempt] : event)
    )
    const { calls, sender, timer, start } = newCalls({
      retries: retrying(),
      notices,
      endpoint: () => 'here:1'
    })
    const once = start()
    const twice = start('request', { idempotent: true })
    const [first] = [twice.call.sequence]
    calls.lost(lost)
    assert.equal((once.outcome.seen[0] as ConnectionError).mayHaveRun, true)
    assert.deepEqual([twice.outcome.seen, calls.inFlight, heard], [[], 1, [['here:1', 1]]])
    assert.equal(sender.kept.size, 0)
    timer.advance(25)
    assert.deepEqual(sender.log.slice(2), ['request 2 is sent'])
    assert.notEqual(twice.call.sequence, first)
    assert.equal(calls.get(first), undefined)
    // The second attempt was refused, but the first attempt may have run.
    calls.fail(twice.call, new RejectedError('busy'))
    timer.advance(50)
    assert.equal(sender.log.length, 4)
    calls.fail(twice.call, new RejectedError('busy'))
    const [error] = twice.outcome.seen
    assert.ok(error instanceof RejectedError)
    assert.deepEqual([error.mayHaveRun, twice.call.retries, calls.inFlight], [true, 2, 0])
  })

  it('have not run if they were only refused', () => {
    const { calls, sender, timer, start } = newCalls({ retries: retrying() })
    const { call, outcome } = start()
    calls.fail(call, new RejectedError('busy'))
    sender.isConnected = false
    timer.advance(25)
    assert.equal(calls.isWaiting(call), true)
    calls.close(closed)
    assert.equal((outcome.seen[0] as ConnectionError).mayHaveRun, false)
  })

  it('fail at once when the budget is used up', () => {
    const budget = { ratio: 0, perSecond: 0.1 }
    let exhausted = 0
    const retries = new RetryPolicy(
      { ...DEFAULT_RETRY, budget },
      0,
      () => 0,
      () => exhausted++
    )
    const { calls, start } = newCalls({ retries })
    const all = [start(), start()]
    for (const { call } of all) calls.fail(call, new RejectedError('busy'))
    assert.deepEqual([all.map(({ outcome }) => outcome.settled), exhausted, calls.inFlight], [[0, 1], 1, 1])
  })

  it('go to another holder if there is one', () => {
    const taken: PendingCall[] = []
    const { calls, start } = newCalls({
      recover: (call, error) => error instanceof ConnectionError && taken.push(call) > 0
    })
    const [moved, failed] = [start(), start()]
    calls.fail(moved.call, lost(false))
    calls.fail(failed.call, new RpcError('no'))
    assert.deepEqual([taken, moved.outcome.settled, failed.outcome.settled], [[moved.call], 0, 1])
    const other = newCalls()
    other.calls.start(moved.call)
    other.calls.value(moved.call, 1, 1)
    assert.equal(moved.outcome.settled, 1)
  })

  it('are not lost if a listener closes the client that retries them', () => {
    const notices = new Notices({ error() {}, warn() {} })
    const { calls, start } = newCalls({ retries: retrying(), notices })
    notices.listen(() => calls.close(closed))
    const { call, outcome } = start()
    calls.fail(call, new RejectedError('busy'))
    assert.deepEqual([outcome.settled, calls.inFlight], [1, 0])
  })
})

describe('calls, whatever happens', () => {
  const action = fc.oneof(
    fc.record({
      do: fc.constant('start' as const),
      kind: fc.constantFrom<CallKind>('request', 'stream', 'event'),
      timeout: fc.constantFrom(undefined, 0, 5, 40, 500),
      lifetime: fc.constantFrom(undefined, 3, 60, 700),
      idempotent: fc.boolean(),
      hasSignal: fc.boolean()
    }),
    fc.record({
      do: fc.constantFrom('value', 'complete', 'error', 'rejected', 'cancel', 'abort', 'leave' as const),
      which: fc.nat(20)
    }),
    fc.record({ do: fc.constant('advance' as const), by: fc.nat(60) }),
    fc.record({ do: fc.constantFrom('connect', 'lose', 'unreachable', 'taken' as const) })
  )

  it('each settles exactly once, says rightly whether it may have run, and leaves nothing behind', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120, size: 'max' }), fc.boolean(), (actions, isTold) => {
        const { calls, sender, timer, start } = newCalls({ timeout: 100, retries: retrying() })
        const made: {
          readonly call: PendingCall
          readonly outcome: Outcome
          readonly abort: AbortController | undefined
          isLeft: boolean
        }[] = []
        /** `sent`: calls whose current attempt was sent. `mayHaveRun`: calls of which an earlier attempt was sent. */
        const [sent, mayHaveRun] = [new Set<PendingCall>(), new Set<PendingCall>()]
        let listeners = 0
        const { send } = sender
        sender.send = (call) => {
          send.call(sender, call)
          // An event stays open until it has left the process.
          if (sender.isConnected && call.kind === 'event') calls.keep(call)
          if (sender.isConnected) sent.add(call)
        }
        const watch = ({ signal }: AbortController): AbortSignal => {
          const [add, remove] = [
            signal.addEventListener.bind(signal),
            signal.removeEventListener.bind(signal)
          ]
          signal.addEventListener = (...args: Parameters<typeof add>) => {
            listeners++
            add(...args)
          }
          signal.removeEventListener = (...args: Parameters<typeof remove>) => {
            listeners--
            remove(...args)
          }
          return signal
        }
        for (const step of actions) {
          if (step.do === 'start') {
            const abort = step.hasSignal ? new AbortController() : undefined
            const { timeout, lifetime, idempotent, kind } = step
            const signal = abort && watch(abort)
            const own = { timeout, idempotent, signal, ...(kind === 'event' ? {} : { lifetime }) }
            made.push({ ...start(kind, own), abort, isLeft: false })
          } else if (step.do === 'advance') timer.advance(step.by)
          else if (step.do === 'connect') {
            sender.isConnected = true
            calls.release()
          } else if (step.do === 'lose') {
            sender.isConnected = false
            for (const { call } of made)
              if (sent.has(call) && !call.isSettled && !calls.isWaiting(call)) mayHaveRun.add(call)
            for (const call of mayHaveRun) sent.delete(call)
            calls.lost(lost)
          } else if (step.do === 'unreachable') calls.failWaiting(lost)
          else if (step.do === 'taken') calls.taken()
          else if ('which' in step) {
            const one = made[step.which]
            if (one === undefined) continue
            const { call } = one
            if (step.do === 'abort') one.abort?.abort()
            else if (step.do === 'leave') {
              // Only the reader of a stream can leave.
              if (call.kind !== 'stream') continue
              one.isLeft ||= one.outcome.settled === 0
              call.holder?.cancel(call)
            } else {
              // The other side answers only calls that it knows.
              if (call.isSettled || calls.isWaiting(call) || call.kind === 'event') continue
              if (step.do === 'value') calls.value(call, 1, 1)
              else if (step.do === 'complete') calls.complete(call)
              else if (step.do === 'cancel')
                calls.giveUp(call, new CanceledError('p', undefined, call.mayHaveRun))
              else if (step.do === 'error') calls.fail(call, new RpcError('no'))
              else {
                sent.delete(call)
                calls.fail(call, new RejectedError('busy'))
              }
            }
          }
          const open = made.filter(
            ({ outcome, isLeft, call }) => !isLeft && outcome.settled === 0 && !call.isSettled
          )
          assert.equal(calls.inFlight, open.length)
          const waking = open.filter(({ call }) => call.deadline < Number.POSITIVE_INFINITY)
          for (const { call } of waking)
            assert.ok(timer.at <= call.deadline, 'a deadline that nobody watches')
        }
        calls.close(closed, isTold)
        for (const { call, outcome, isLeft } of made) {
          // A request settles with its value.
          const satisfied = outcome.settled
          assert.equal(satisfied, isLeft ? 0 : 1, `${call.name} has settled ${satisfied} times`)
          const last = outcome.seen.at(-1)
          if (
            !(
              last instanceof ConnectionError ||
              last instanceof TimeoutError ||
              last instanceof CanceledError
            )
          )
            continue
          assert.equal(
            last.mayHaveRun,
            sent.has(call) || mayHaveRun.has(call),
            `${call.name}: ${last.message}`
          )
        }
        assert.equal(calls.inFlight, 0)
        assert.equal(sender.kept.size, 0)
        assert.equal(listeners, 0)
        assert.equal(timer.at, Number.NEGATIVE_INFINITY)
        for (const { outcome } of made)
          for (const error of outcome.seen)
            if (error instanceof Error) assert.ok(error instanceof MicroserviceError)
      }),
      { numRuns: runs(500) }
    )
  })
})
