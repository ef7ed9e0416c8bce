/** Calls that wait for a connection, or for the pause before they are made again. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type PendingCall, PendingCaller } from '@elysia-microservices/transport/kit'
import { RecordingReceiver, turn } from '../testing/rsocket-peer.ts'
import { UNTIL_CONNECTED, WaitingCalls } from './waiting-calls.ts'

describe('calls that wait', () => {
  it('are 65,536 at most; more fail at once', () => {
    const waiting = new WaitingCalls(0, () => assert.fail())
    const caller = new PendingCaller((call) => waiting.add(call, UNTIL_CONNECTED), 0)
    const receiver = new RecordingReceiver()
    for (let n = 0; n < 65_536; n++) caller.stream('p', n, receiver)
    assert.deepEqual(receiver.seen, [])
    caller.stream('p', 65_536, receiver)
    assert.deepEqual(receiver.seen, ['OverloadedError'])
    assert.equal(waiting.takeUnconnected().length, 65_536)
    waiting.close(() => new Error('closed'))
  })

  describe('with a time', () => {
    /** Keeps the process alive: timers of the product do not. */
    let awake: ReturnType<typeof setTimeout>
    beforeEach(() => {
      awake = setTimeout(() => {}, 60_000)
    })
    afterEach(() => clearTimeout(awake))

    it('fail when it is over, and say why there was no connection', async () => {
      const waiting = new WaitingCalls(10, () => assert.fail())
      const caller = new PendingCaller((call) => waiting.add(call, UNTIL_CONNECTED), 10)
      await assert.rejects(caller.request('p', 1), {
        name: 'ConnectionError',
        message: 'No connection within 10 ms',
        mayHaveRun: false
      })
      waiting.reason = new Error('nobody')
      waiting.endpoint = 'a:1'
      await assert.rejects(caller.request('p', 1), {
        message: 'No connection within 10 ms: nobody',
        endpoint: 'a:1'
      })
      // One that came later and has less time fails first.
      const patient = caller.request('p', 1, { timeout: 60_000 })
      const closed = assert.rejects(patient, { message: 'closed' })
      await assert.rejects(caller.request('p', 1, { timeout: 5 }), { message: /^No connection within 5 ms/ })
      waiting.close(() => new Error('closed'))
      await closed
    })

    it('are made when their pause is over, once, also if somebody else waits for a connection', async () => {
      const made: unknown[] = []
      const waiting = new WaitingCalls(0, (call) => {
        made.push(call.data)
        assert.equal(call.isDelayed, true)
      })
      const add = (data: number, due: number) =>
        new PendingCaller((call) => waiting.add(call, due), 0).stream('p', data, new RecordingReceiver())
      const now = performance.now()
      add(0, UNTIL_CONNECTED)
      add(3, now + 15)
      add(1, now - 1)
      add(2, now + 5)
      while (made.length < 3) await turn()
      await new Promise((resolve) => setTimeout(resolve, 20))
      // Those whose pauses end together, on a busy machine, are made in the order in which they came.
      assert.deepEqual(made.toSorted(), [1, 2, 3])
      assert.deepEqual(
        waiting.takeUnconnected().map(({ data }) => data),
        [0]
      )
      waiting.close(() => new Error('closed'))
    })
  })

  it('are made or fail at the very moment', () => {
    const made: unknown[] = []
    const waiting = new WaitingCalls(0, (call) => made.push(call.data))
    const receiver = new RecordingReceiver()
    let call: PendingCall | undefined
    const caller = new PendingCaller((added) => {
      call = added
      waiting.add(added, 1e12)
    }, 0)
    caller.stream('p', 1, receiver)
    waiting.wake(1e12 - 1)
    assert.deepEqual(made, [])
    waiting.wake(1e12)
    assert.deepEqual(made, [1])
    caller.stream('p', 2, receiver, { timeout: 1_000 })
    waiting.wake(call!.deadline)
    assert.deepEqual(receiver.seen, ['ConnectionError'])
    waiting.close(() => new Error('closed'))
  })

  it('leave nothing at the signal of their caller, however they end', async () => {
    const waiting = new WaitingCalls(0, () => {})
    const signal = () => {
      const { signal } = new AbortController()
      const listeners = new Set<unknown>()
      const add = signal.addEventListener.bind(signal)
      const remove = signal.removeEventListener.bind(signal)
      signal.addEventListener = (type: string, listener: EventListener) => {
        listeners.add(listener)
        add(type, listener)
      }
      signal.removeEventListener = (type: string, listener: EventListener) => {
        listeners.delete(listener)
        remove(type, listener)
      }
      return { signal, listeners }
    }
    const caller = new PendingCaller((call) => waiting.add(call, UNTIL_CONNECTED), 0)
    const [taken, cancelled, failed, refused] = [signal(), signal(), signal(), signal()]
    caller.stream('p', 1, new RecordingReceiver(), { signal: taken.signal })
    assert.equal(taken.listeners.size, 1)
    assert.equal(waiting.takeUnconnected().length, 1)
    caller.stream('p', 1, new RecordingReceiver(), { signal: cancelled.signal }).cancel()
    const receiver = new RecordingReceiver()
    caller.stream('p', 1, receiver, { signal: failed.signal })
    waiting.close(() => new Error('closed'))
    waiting.close(() => new Error('closed'))
    assert.deepEqual(receiver.seen, ['Error'])
    const wrong = new RecordingReceiver()
    caller.stream('p', 1, wrong, { signal: refused.signal, timeout: -1 })
    assert.deepEqual(wrong.seen, ['OptionError'])
    for (const { listeners } of [taken, cancelled, failed, refused]) assert.equal(listeners.size, 0)
  })

  it('are taken when there is a connection, but not those of a pause, which fail with the client', () => {
    const waiting = new WaitingCalls(0, () => assert.fail())
    const calls = (due: number) => {
      const receiver = new RecordingReceiver()
      new PendingCaller((call) => waiting.add(call, due), 0).stream('p', 1, receiver)
      return receiver
    }
    const unconnected = calls(UNTIL_CONNECTED)
    const paused = calls(performance.now() + 3_600_000)
    assert.equal(waiting.takeUnconnected().length, 1)
    assert.equal(waiting.takeUnconnected().length, 0)
    waiting.close(() => new Error('the client was closed'))
    assert.deepEqual(unconnected.seen, [])
    assert.deepEqual(paused.seen, ['Error'])
  })
})
