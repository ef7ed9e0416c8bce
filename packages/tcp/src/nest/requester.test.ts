/** The calling end of Nest's wire, without a socket. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import { FakeClock, FakeOutput } from '../testing/peer.ts'
import { RecordingReceiver } from '../testing/rsocket-peer.ts'
import { NestRequester } from './requester.ts'

const LIMITS = { maxBufferSize: 10_000, maxUnsent: 10_000, timeout: 0 }

function newRequester() {
  const { newTimer } = new FakeClock()
  const requester = new NestRequester({ ...LIMITS, where: 'tcp://test:4000', newTimer })
  const output = new FakeOutput()
  return { requester, output, caller: new PendingCaller((call) => requester.start(call), 0) }
}

function connected() {
  const parts = newRequester()
  parts.requester.open(parts.output)
  return parts
}

describe("a call on Nest's wire", () => {
  it('is forgotten when its reader leaves', () => {
    const { requester, output, caller } = connected()
    const receiver = new RecordingReceiver()
    const call = caller.stream('values', 1, receiver)
    assert.equal(requester.inFlight, 1)
    call.cancel()
    assert.equal(requester.inFlight, 0)
    const packet = JSON.stringify({ response: 1, id: JSON.parse(output.text.replace(/^\d+#/, '')).id })
    requester.receive(Buffer.from(`${packet.length}#${packet}`))
    assert.deepEqual(receiver.seen, [])
  })

  it('is not sent if its reader leaves before there is a connection, and takes no room then', () => {
    const { requester, output, caller } = newRequester()
    const large = 'x'.repeat(4_000)
    const calls = Array.from({ length: 2 }, () => caller.stream('large', large, new RecordingReceiver()))
    const refused = new RecordingReceiver()
    caller.stream('large', large, refused)
    assert.deepEqual(refused.seen, ['OverloadedError'])
    for (const call of calls) call.cancel()
    const receiver = new RecordingReceiver()
    caller.stream('third', large, receiver)
    caller.stream('fourth', 1, receiver)
    assert.deepEqual(receiver.seen, [])
    requester.open(output)
    assert.deepEqual(output.text.match(/"pattern":"\w+"/g), ['"pattern":"third"', '"pattern":"fourth"'])
  })
})
