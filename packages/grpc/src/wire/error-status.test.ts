import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log } from '@elysia-microservices/test-support'
import {
  PatternNotFoundError,
  RejectedError,
  RpcError,
  UnauthenticatedError,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { errorOfStatus, trailersOfError } from './error-status.ts'

/** The error that a caller gets, and its status. */
function sent(error: unknown) {
  const log = new Log()
  const fields = trailersOfError(error, log.logger, 'A call failed')
  const value = (name: string) => fields[fields.indexOf(name) + 1] as string
  const has = fields.includes('grpc-status-details-bin')
  const received = errorOfStatus(
    Number(value('grpc-status')),
    fields.includes('grpc-message') ? value('grpc-message') : '',
    has ? value('grpc-status-details-bin') : undefined
  ) as RpcError
  return { status: Number(value('grpc-status')), has, received, log }
}

describe('an error', () => {
  const statuses: readonly (readonly [RpcError, number])[] = [
    [new RpcError({ code: 'NOT_FOUND', message: 'gone' }), 5],
    [new RpcError({ code: 'ORDER_NOT_FOUND', message: 'no such order' }), 2],
    [new RpcError({ code: 'CONFLICT', message: 'changed' }), 10],
    [new RpcError({ code: 'OK', message: 'no code of an error' }), 2],
    [new RpcError({ code: 'TIMEOUT', message: 'slow' }), 4],
    [new RpcError({ code: 'toString', message: 'a name of objects' }), 2],
    [PatternNotFoundError.of('a.B/C'), 12],
    [new RejectedError('busy'), 14],
    [new UnauthenticatedError('no token'), 16],
    [new ValidationError('data.a', 'a number', 'x'), 3]
  ]
  for (const [error, status] of statuses)
    it(`with the code ${error.code} has the status ${status}, and arrives as it was`, () => {
      const { status: found, received } = sent(error)
      assert.equal(found, status)
      assert.deepEqual(
        [received.code, received.message, received.details, received.name, received.mayHaveRun],
        [error.code, error.message, error.details, error.name, error.mayHaveRun]
      )
    })

  it('keeps its details, and needs no bytes for the names that gRPC has', () => {
    const details = { order: 7, lines: [{ price: 1.5 }, null], ü: 'ü%' }
    assert.deepEqual(
      sent(new RpcError({ code: 'ABORTED', message: 'ü %', details })).received.details,
      details
    )
    assert.equal(sent(new RpcError({ code: 'ABORTED', message: 'x' })).has, false)
  })

  it('that nobody expected is logged, and says nothing', () => {
    const { status, received, log } = sent(new Error('secret'))
    assert.deepEqual([status, received.code, received.message], [13, 'INTERNAL', 'Internal server error'])
    assert.equal(log.lines.length, 1)
  })

  it('with too many details arrives without them', () => {
    const { has, received, log } = sent(new RpcError({ code: 'A', message: 'm', details: 'x'.repeat(5_000) }))
    assert.deepEqual([has, received.message], [false, 'm'])
    assert.equal(log.lines.length, 1)
  })

  it('of another library has the name of its status, and no class of this library', () => {
    const error = errorOfStatus(16, 'a%20b', undefined) as RpcError
    assert.deepEqual(
      [error.name, error.code, error.message, error.mayHaveRun],
      ['RpcError', 'UNAUTHENTICATED', 'a b', true]
    )
    assert.equal((errorOfStatus(14, '', 'no base64 %') as RpcError).message, 'UNAVAILABLE')
  })
})
