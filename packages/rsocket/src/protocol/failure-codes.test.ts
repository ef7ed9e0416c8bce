import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CanceledError,
  ErrorAnswer,
  RejectedError,
  RpcError,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { fromWireError, toWireError } from './failure-codes.ts'

const silent = { error() {}, warn() {} }

/** The error that the service has sent, as the caller's error stores it. */
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

  for (const [error, expected] of [
    [new RejectedError('busy'), 0x202],
    [new ValidationError('data', 'a number', 'text'), 0x204],
    [new RpcError('no'), 0x201],
    [new Error('secret'), 0x201]
  ] as const)
    it(`has the code 0x${expected.toString(16)} if it is of the class ${error.name}`, () => {
      assert.equal(toWireError(error, silent, 'It failed').code, expected)
    })

  it('does not tell its class by its code where its content cannot be told', () => {
    const error = new ValidationError('data', 'a number', 'text', undefined, { details: { big: 1n } })
    const { code, data } = toWireError(error, silent, 'It failed')
    assert.deepEqual([code, data], [0x201, '{"code":"INTERNAL","message":"Internal server error"}'])
  })

  it('has as many bytes as fit into a frame; with one more it is an internal error, and logged', () => {
    const logged: string[] = []
    const logger = { error: (message: string) => void logged.push(message), warn() {} }
    // The quotes of the JSON text take two bytes.
    const most = 0xffffff - 6 - 4 - 2
    const answer = (length: number) => new ErrorAnswer('x'.repeat(length))
    assert.equal(toWireError(answer(most), logger, 'It failed').data.length, most + 2)
    assert.deepEqual(logged, [])
    assert.match(toWireError(answer(most + 1), logger, 'It failed').data, /"INTERNAL"/)
    assert.equal(logged.length, 1)
  })

  it('of a code without a class has the name of the code, unless it says its own', () => {
    const named = (code: number, data: string) => (fromWireError(code, data, 'a pattern') as RpcError).code
    assert.equal(named(0x204, 'bad'), 'INVALID')
    assert.equal(named(0x301, 'own'), '0x00000301')
    assert.equal(named(0x301, '{"code":"OWN","message":"m"}'), 'OWN')
  })

  it('is a RejectedError or a CanceledError by its code alone', () => {
    const rejected = fromWireError(0x202, 'busy', 'a pattern')
    assert.ok(rejected instanceof RejectedError)
    assert.deepEqual([rejected.message, rejected.received], ['busy', 'busy'])
    const canceled = fromWireError(0x203, 'late', 'a pattern')
    assert.ok(canceled instanceof CanceledError)
    assert.deepEqual([/'a pattern'/.test(canceled.message), canceled.cause], [true, 'late'])
    assert.ok(!(fromWireError(0x201, '{"code":"REJECTED","message":"m"}', 'p') instanceof RejectedError))
  })
})
