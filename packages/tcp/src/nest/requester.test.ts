/** The calling end of Nest's wire, without a socket. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import { FakeClock, FakeOutput } from '../testing/peer.ts'
import { RecordingReceiver } from '../testing/rsocket-peer.ts'
import { NestRequester } from './requester.ts'

const LIMITS = { maxBufferSize: 10_000, maxUnsent: 10_000, timeout: 0 }

function connected() {
  const { newTimer } = new FakeClock()
  const requester = new NestRequester({ ...LIMITS, where: 'tcp://test:4000', newTimer })
  const output = new FakeOutput()
  requester.open(output)
  return { requester, output, caller: new PendingCaller((call) => requester.start(call), 0) }
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
})
