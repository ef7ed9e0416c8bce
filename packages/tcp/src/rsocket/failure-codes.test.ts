import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ErrorAnswer, RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import { fromWireError, toWireError } from './failure-codes.ts'

const silent = { error() {}, warn() {} }

/** What the caller's error says the service sent. */
function received(error: unknown): unknown {
  const { code, data } = toWireError(error, silent, 'It failed')
  const read = fromWireError(code, data, 'a pattern')
  assert.ok(read instanceof RpcError)
  return read.received
}

describe('an error on its way through an RSocket connection', () => {
  for (const value of [
    'text',
    '{"not":"parsed"',
    '',
    5,
    true,
    null,
    [1, 2],
    { status: 404 },
    { a: { b: 1 } }
  ]) {
    it(`is ${JSON.stringify(value)} if its answer is settled to be that`, () => {
      assert.deepEqual(received(new ErrorAnswer(value)), value)
    })
  }

  it('has code INTERNAL if Nest has nothing to say of it', () => {
    const answer = new ErrorAnswer({ status: 'error', message: 'Internal server error' })
    const { code, data } = toWireError(answer, silent, 'It failed')
    assert.equal((fromWireError(code, data, 'a pattern') as RpcError).code, 'INTERNAL')
  })

  it('is an internal error if its answer has no JSON text', () => {
    for (const value of [undefined, 1n, () => {}]) {
      assert.deepEqual(received(new ErrorAnswer(value)), {
        code: 'INTERNAL',
        message: 'Internal server error'
      })
    }
  })

  it('loses the status that only says that it is an error, and no other', () => {
    assert.deepEqual(received({ getError: () => 'text' }), { message: 'text' })
    assert.deepEqual(received({ getError: () => ({ status: 404, message: 'm' }) }), {
      status: 404,
      message: 'm'
    })
    assert.deepEqual(received({ getError: () => [1, 2] }), [1, 2])
  })

  it('is a ValidationError again, with all it said', () => {
    const thrown = new ValidationError('data.items[2]', 'a number', 'text')
    const { code, data } = toWireError(thrown, silent, 'It failed')
    const read = fromWireError(code, data, 'a pattern')
    assert.ok(read instanceof ValidationError)
    assert.deepEqual(
      [read.path, read.expected, read.message, read.details],
      [thrown.path, thrown.expected, thrown.message, thrown.details]
    )
    assert.notEqual(read.received, undefined)
  })

  it('of code VALIDATION without path is no ValidationError', () => {
    const read = fromWireError(
      0x204,
      '{"code":"VALIDATION","message":"m","details":1}',
      'a pattern'
    ) as RpcError
    assert.deepEqual([read.name, read.code, read.details], ['RpcError', 'VALIDATION', 1])
  })

  it('has the text of a peer that does not write JSON as its message', () => {
    const error = fromWireError(0x201, 'out of stock', 'a pattern') as RpcError
    assert.deepEqual([error.code, error.message, error.received], ['UNKNOWN', 'out of stock', 'out of stock'])
  })
})
