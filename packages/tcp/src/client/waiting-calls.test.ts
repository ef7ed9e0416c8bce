/** Calls that wait for a connection, or for the pause before they are made again. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import { RecordingReceiver } from '../testing/rsocket-peer.ts'
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
