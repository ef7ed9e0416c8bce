/** Tests of an answer's fields other than its code: its number, and how a handler passes it on. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readFailure } from '../failure.ts'
import { readRemoteError } from '../nest/reply.ts'
import { readErrorText } from '../wire-error.ts'
import { errorOf, PatternNotFoundError, RejectedError, RpcError, ValidationError } from './index.ts'

/**
 * Makes the errors that a client makes of an answer in RSocket's text, and of the same answer in a packet of Nest's
 * wire.
 */
function received(answer: object): RpcError[] {
  const { code = 'UNKNOWN', message, details, received } = readErrorText(JSON.stringify(answer))
  return [errorOf(code, message, details, received), readRemoteError(answer)]
}

describe('the number of an error', () => {
  const cases: [answer: object, status: number | undefined][] = [
    [{ code: 404, message: 'm' }, 404],
    [{ status: 404, message: 'm' }, 404],
    [{ status: 'error', statusCode: 404, message: 'm' }, 404],
    [{ code: 1042, statusCode: 409, message: 'm' }, 409],
    [{ code: 'NOT_FOUND', statusCode: 404, message: 'm' }, 404],
    [{ code: 5, message: 'm' }, 5],
    [{ status: 'error', code: '404', message: 'm' }, undefined],
    [{ status: 'error', message: 'm' }, undefined]
  ]
  for (const [answer, status] of cases)
    it(`of ${JSON.stringify(answer)} is ${status}`, () => {
      for (const error of received(answer)) assert.equal(error.status, status)
    })

  it('travels, and is left out where there is none', () => {
    const error = new RpcError({ code: 'GONE', message: 'm', status: 410, details: { at: 1 } })
    for (const { code, status, details } of received(error.toJSON()))
      assert.deepEqual([code, status, details], ['GONE', 410, { at: 1 }])
    assert.deepEqual(new RpcError('m').toJSON(), { status: 'error', code: 'UNKNOWN', message: 'm' })
  })

  it('is no text, even if another library made the error', () => {
    const error = new RpcError({ status: 'error', message: 'm' } as object)
    assert.equal(error.status, undefined)
  })
})

describe('an error that is passed on', () => {
  it('is an answer of the own, with all that it says', () => {
    const answer = { status: 'error', code: 'SOLD_OUT', message: 'm', statusCode: 409, details: { left: 0 } }
    for (const error of received(answer)) {
      assert.deepEqual(readFailure(error), { logged: true })
      assert.deepEqual(readFailure(error.pass()), { answer })
    }
  })

  it('of a schema keeps its path', () => {
    const [error] = received(new ValidationError('data.id', 'a number', 'x').toJSON())
    const [again] = received((error as RpcError).pass().toJSON())
    assert.ok(again instanceof ValidationError)
    assert.equal(again.path, 'data.id')
  })

  it('says that a service is down where nobody listens over an engine', () => {
    const passed = [PatternNotFoundError.nobody('a'), PatternNotFoundError.of('a')].map((error) =>
      error.pass()
    )
    assert.deepEqual(
      passed.map(({ code, status }) => [code, status]),
      [
        ['SERVICE_UNAVAILABLE', 503],
        ['NOT_IMPLEMENTED', undefined]
      ]
    )
  })

  it('refuses nothing of its own', () => {
    const passed = new RejectedError('busy', {}).pass()
    assert.deepEqual(
      [passed.constructor, passed.code, passed.mayHaveRun],
      [RpcError, 'SERVICE_UNAVAILABLE', true]
    )
  })
})
