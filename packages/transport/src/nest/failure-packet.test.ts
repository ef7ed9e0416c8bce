/** Tests the packet for a handler's failure on Nest's wire, and the log line of the failure. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PatternNotFoundError, RpcError } from '../errors/index.ts'
import { ErrorAnswer } from '../failure.ts'
import { IncomingMessage } from '../message.ts'
import { failurePacket } from './failure-packet.ts'

const message = new IncomingMessage({
  transport: 'test',
  kind: 'request',
  pattern: 'sum',
  route: 'sum',
  data: 1
})

/** Returns the packet of an error, and the lines that were logged for it. */
function told(error: unknown) {
  const logged: unknown[][] = []
  const logger = { warn: assert.fail, error: (...line: unknown[]) => void logged.push(line) }
  return { packet: failurePacket(error, '"7"', logger, message), logged }
}

const internal = '{"err":{"status":"error","message":"Internal server error"},"isDisposed":true,"id":"7"}'

describe('failurePacket', () => {
  it("has Nest's own form where there is no handler", () => {
    assert.deepEqual(told(PatternNotFoundError.of('sum')), {
      packet:
        '{"id":"7","status":"error","err":"There is no matching message handler defined in the remote service."}',
      logged: []
    })
  })

  it('has what the handler means its caller to know, which is not logged', () => {
    assert.deepEqual(told(new RpcError({ code: 'E', message: 'm' })), {
      packet: '{"err":{"status":"error","code":"E","message":"m"},"isDisposed":true,"id":"7"}',
      logged: []
    })
    assert.equal(told(new ErrorAnswer('text')).packet, '{"err":"text","isDisposed":true,"id":"7"}')
  })

  it('has nothing of an unexpected error, which is logged as it is', () => {
    const error = new Error('secret')
    const { packet, logged } = told(error)
    assert.equal(packet, internal)
    assert.equal(logged.length, 1)
    assert.match(String(logged[0]?.[0]), /'sum'/)
    assert.equal(logged[0]?.[1], error)
  })

  it('is internal where JSON cannot carry the answer, and the log says why', () => {
    const { packet, logged } = told(new ErrorAnswer(5n))
    assert.equal(packet, internal)
    assert.equal(logged.length, 1)
    assert.match(String(logged[0]?.[0]), /'sum'.*cannot be written as JSON$/)
    assert.match(String(logged[0]?.[1]), /BigInt/)
  })
})
