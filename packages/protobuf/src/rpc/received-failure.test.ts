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
import { failureOf } from './failure-of.ts'
import { errorOfStatus } from './received-failure.ts'
import { statusTrailers, type TrailerRoom } from './trailers.ts'

/** The error that a caller gets, and its status. */
function sent(error: unknown, room?: TrailerRoom) {
  const log = new Log()
  const failure = failureOf(error, { logger: log.logger, message: 'A call failed' })
  const trailers = new Map(statusTrailers(failure, room))
  const status = Number(trailers.get('grpc-status'))
  const details = trailers.get('grpc-status-details-bin')
  const received = errorOfStatus(status, trailers.get('grpc-message') ?? '', details)
  return { status, has: details !== undefined, received, log }
}

describe('an error of a service', () => {
  const statuses: readonly (readonly [RpcError, number])[] = [
    [new RpcError({ code: 'NOT_FOUND', message: 'gone' }), 5],
    [new RpcError({ code: 'ORDER_NOT_FOUND', message: 'no such order' }), 2],
    [new RpcError({ code: 'CONFLICT', message: 'changed' }), 10],
    [new RpcError({ code: 'OK', message: 'no code of an error' }), 2],
    [new RpcError({ code: 'GONE', message: 'no longer' }), 5],
    [new RpcError({ code: 'STREAM_OVERFLOW', message: 'too far ahead' }), 8],
    [new RpcError({ code: 'REJECTED', message: 'of the application, and it has run' }), 2],
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

  it('with too many details arrives without them, and with the beginning of its text', () => {
    let size = 0
    const room = {
      message: 10,
      details: 4_096,
      tooLarge: (given: number) => {
        size = given
      }
    }
    const error = new RpcError({ code: 'A', message: 'a long text', details: 'x'.repeat(5_000) })
    const { has, received } = sent(error, room)
    assert.deepEqual([has, received.message], [false, 'a long tex'])
    assert.ok(size > 5_000)
    // Small details have the whole text.
    assert.equal(
      sent(new RpcError({ code: 'A', message: 'a long text' }), room).received.message,
      'a long text'
    )
  })

  it('of another library has the name of its status, and no class of this library', () => {
    const error = errorOfStatus(16, 'a%20b', undefined)
    assert.deepEqual(
      [error.name, error.code, error.message, error.mayHaveRun],
      ['RpcError', 'UNAUTHENTICATED', 'a b', true]
    )
    assert.equal(errorOfStatus(14, '', 'no base64 %').message, 'UNAVAILABLE')
  })
})
