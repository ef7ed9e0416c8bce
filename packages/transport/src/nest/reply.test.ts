import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PatternNotFoundError, RpcError, ValidationError } from '../errors/index.ts'
import { isForeign, readRemoteError } from './reply.ts'

describe('readRemoteError', () => {
  const cases: [what: string, err: unknown, expected: Partial<RpcError>][] = [
    [
      'ours, with code and details',
      { status: 'error', code: 'E', message: 'm', details: 1 },
      { code: 'E', message: 'm', details: 1 }
    ],
    ["Nest's of a text", { status: 'error', message: 'm' }, { code: 'UNKNOWN', message: 'm' }],
    ["Nest's of a failure", { status: 'error', message: 'Internal server error' }, { code: 'INTERNAL' }],
    ['a text', 'broken', { code: 'UNKNOWN', message: 'broken' }],
    ['a number', 7, { code: 'UNKNOWN', message: '7' }],
    ['a list', [1], { code: 'UNKNOWN', message: '[1]' }],
    ['an object without message', { a: 1 }, { code: 'UNKNOWN', message: '{"a":1}' }],
    ['an object whose message is none', { message: { a: 1 } }, { message: '{"a":1}' }],
    ['an object whose code is none', { code: 404, message: 'm' }, { code: 'UNKNOWN', message: 'm' }]
  ]
  for (const [what, err, expected] of cases) {
    it(`reads ${what}, and keeps it whole`, () => {
      const error = readRemoteError(err)
      assert.ok(error instanceof RpcError)
      for (const [key, value] of Object.entries(expected))
        assert.deepEqual(error[key as keyof RpcError], value)
      assert.deepEqual(error.received, err)
    })
  }

  it('makes the class that was thrown', () => {
    const nobody = 'There is no matching message handler defined in the remote service.'
    assert.ok(readRemoteError(nobody) instanceof PatternNotFoundError)
    assert.ok(readRemoteError({ code: 'PATTERN_NOT_FOUND', message: 'm' }) instanceof PatternNotFoundError)
    const error = readRemoteError(new ValidationError('data.a', 'a number', 'x').toJSON())
    assert.ok(error instanceof ValidationError)
    assert.deepEqual([error.path, error.expected], ['data.a', 'a number'])
  })
})

describe('isForeign', () => {
  it('is a packet with a key that Nest does not write', () => {
    assert.equal(isForeign({ id: '1', response: 1, isDisposed: true }), false)
    assert.equal(isForeign({ id: '1', err: 1, status: 'error' }), false)
    assert.equal(isForeign({ id: '1', value: 1 } as never), true)
  })
})
