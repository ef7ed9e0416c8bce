import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { declaredError, errorOf, isError, RpcError, TimeoutError } from './index.ts'

describe('isError', () => {
  it('knows answers by their code, and the bodies of gateways', () => {
    for (const error of [
      declaredError('OUT_OF_STOCK', { left: 3 }),
      errorOf('OUT_OF_STOCK', 'received', { left: 3 }, {}),
      { code: 'OUT_OF_STOCK', message: 'a body', details: { left: 3 } }
    ]) {
      assert.equal(isError(error as unknown, 'OTHER'), false)
      assert.ok(isError(error, 'OUT_OF_STOCK'))
      assert.deepEqual(error.details, { left: 3 })
    }
  })

  it('says no to local errors, to what is no error, and to what throws when it is looked at', () => {
    const hostile = {
      get code() {
        throw new Error('looked at')
      }
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const value of [undefined, null, 'TIMEOUT', 7, hostile, proxy, new TimeoutError('late', 5, false)])
      assert.equal(isError(value as unknown, 'TIMEOUT'), false)
  })
})

describe('declaredError', () => {
  it('is an answer with the code as its message, if there is no other', () => {
    const error = declaredError('CLOSED')
    assert.ok(error instanceof RpcError)
    assert.deepEqual([error.code, error.message, error.details], ['CLOSED', 'CLOSED', undefined])
    assert.equal(declaredError('CLOSED', undefined, 'Closed until 8').message, 'Closed until 8')
  })
})
