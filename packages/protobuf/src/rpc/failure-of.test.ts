import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ConnectionError,
  HTTP_CODES,
  OptionError,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { CODES, codeOfError, ERROR_CODES, isRpcCode } from './codes.ts'
import { failureOf, unsendableResult } from './failure-of.ts'

const lines: string[] = []
const logger = { error: (line: string) => void lines.push(line), warn() {} }
const call = { logger }

describe('the failure of a call', () => {
  for (const [error, code, message, reason] of [
    [new RpcError({ code: 'NOT_FOUND', message: 'No order 7' }), 'not_found', 'No order 7', undefined],
    [
      new ValidationError('data.id', 'a text', 7),
      'invalid_argument',
      'data.id: expected a text, received 7',
      'VALIDATION'
    ],
    [new RejectedError('busy'), 'unavailable', 'busy', 'REJECTED'],
    [
      PatternNotFoundError.of('a'),
      'unimplemented',
      "There is no handler for the pattern 'a'",
      'PATTERN_NOT_FOUND'
    ],
    [new RpcError({ code: 'OUT_OF_STOCK', message: 'none' }), 'unknown', 'none', 'OUT_OF_STOCK'],
    [new RpcError({ code: 'OUT_OF_STOCK', message: 'none', status: 409 }), 'aborted', 'none', 'OUT_OF_STOCK'],
    [new RpcError({ code: 'FAILED_PRECONDITION' }), 'failed_precondition', 'FAILED_PRECONDITION', undefined],
    [
      new RpcError({ code: 'UNAUTHENTICATED', message: 'who?' }),
      'unauthenticated',
      'who?',
      'UNAUTHENTICATED'
    ],
    [new RpcError({ code: 'REJECTED', message: 'own' }), 'unknown', 'own', 'REJECTED'],
    [{ getError: () => ({ code: 5, message: 'by number' }) }, 'not_found', 'by number', undefined]
  ] as const)
    it(`has the code ${code} for ${message}`, () => {
      const failure = failureOf(error, call)
      assert.deepEqual([failure.code, failure.message], [code, message])
      const [info] = failure.details
      assert.deepEqual(
        info?.debug,
        reason === undefined ? undefined : { reason, domain: 'elysia-microservices' }
      )
    })

  it('has the details of the error', () => {
    const { details } = failureOf(new RpcError({ code: 'GONE', details: { since: [2020] } }), call)
    assert.deepEqual(
      details.map(({ type, debug }) => [type, debug]),
      [
        ['google.rpc.ErrorInfo', { reason: 'GONE', domain: 'elysia-microservices' }],
        ['google.protobuf.Value', { since: [2020] }]
      ]
    )
  })

  it('has the code that the application chooses', () => {
    const errors = { OUT_OF_STOCK: 'resource_exhausted' } as const
    assert.equal(
      failureOf(new RpcError({ code: 'OUT_OF_STOCK' }), { ...call, errors }).code,
      'resource_exhausted'
    )
  })

  it('says nothing of an error that is not meant for callers, and logs it', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const error of [new Error('secret'), new ConnectionError('secret', true), 'secret', null, proxy]) {
      lines.length = 0
      const failure = failureOf(error, call)
      assert.deepEqual(
        [failure.code, failure.message, failure.details],
        ['internal', 'Internal server error', []]
      )
      assert.equal(lines.length, 1)
    }
  })
})

describe('the error of a result that cannot be sent', () => {
  it('says what does not fit, and never throws', () => {
    const misfit = new OptionError('data.price', 'data.price must be a number')
    assert.match(unsendableResult(misfit).message, /cannot be sent: data\.price must be a number$/)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const cause of [new Error('secret'), 'secret', undefined, proxy])
      assert.match(unsendableResult(cause).message, /cannot be sent$/)
  })
})

describe('the codes of calls', () => {
  it('are there for all names of HTTP statuses', () => {
    for (const [status, code] of HTTP_CODES) {
      const found = codeOfError({ code })
      assert.ok(isRpcCode(found) && (found !== 'unknown' || status === 500), code)
    }
  })

  it('stand for the names of gRPC in upper case', () => {
    for (const code of Object.keys(CODES)) assert.equal(codeOfError({ code: code.toUpperCase() }), code)
  })

  it('of the table are codes', () => {
    for (const code of Object.values(ERROR_CODES)) assert.ok(isRpcCode(code))
  })
})
