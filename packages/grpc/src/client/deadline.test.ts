/** Deadlines that both ends know: whose word comes first does not matter. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock, FakeOutput } from '@elysia-microservices/rsocket/testing'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import { Flag, FrameType } from '../http2/frame-type.ts'
import { frame, headers, reset, settings } from '../testing/frames.ts'
import { METHODS } from '../testing/service.ts'
import { GrpcClientConnection } from './grpc-client-connection.ts'

const logger = { error() {}, warn() {} }
const CANCEL = 8
const DEADLINE_EXCEEDED = headers(1, [
  [':status', '200'],
  ['content-type', 'application/grpc'],
  ['grpc-status', '4']
])

/** A call with a timeout of 100 ms whose server says something at a time; no timer of the client has fired by then. */
function calledAt(time: number, said: Uint8Array): Promise<unknown> {
  const clock = new FakeClock()
  const connection = new GrpcClientConnection({
    methods: METHODS,
    logger,
    maxMessageSize: 1_000,
    maxHeldSize: 1_000,
    newTimer: clock.newTimer,
    timeout: 5_000,
    authority: 'here:1',
    isSecure: false,
    where: 'grpc://here:1',
    goingAway() {}
  })
  connection.open(new FakeOutput())
  connection.receive(Buffer.concat([settings(), frame(FrameType.SETTINGS, Flag.ACK, 0)]))
  const caller = new PendingCaller((call) => connection.calls.start(call), 5_000)
  const call = caller.request('test.Kinds/Unary', 'x', { timeout: 100 })
  clock.time = time
  connection.receive(said)
  return call
}

describe('a call whose time is over', () => {
  for (const [name, said] of [
    ['a status', DEADLINE_EXCEEDED],
    ['CANCEL', reset(1, CANCEL)]
  ] as const)
    it(`fails with TimeoutError, although its server says so first, by ${name}`, async () => {
      await assert.rejects(calledAt(100, said), { name: 'TimeoutError', timeout: 100, mayHaveRun: true })
      // Before its time, it is the server that has a reason of its own.
      await assert.rejects(calledAt(50, said), { name: 'RpcError' })
    })
})
