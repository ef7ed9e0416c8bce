import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readFailure } from './failure.ts'

/** Makes an exception with the methods of Nest's exceptions. */
const exception = (status: unknown, response: unknown, message = 'Http Exception') =>
  Object.assign(new Error(message), { getStatus: () => status, getResponse: () => response })

describe("an HttpException of Nest's", () => {
  const error = 'Bad Request'
  const cases: [what: string, status: number, response: unknown, answer: object][] = [
    ['a text', 404, 'no user 7', { code: 'NOT_FOUND', message: 'no user 7', statusCode: 404 }],
    [
      'a message',
      403,
      { message: 'not you', error: 'Forbidden', statusCode: 403 },
      { code: 'FORBIDDEN', message: 'not you', statusCode: 403 }
    ],
    [
      "a pipe's messages",
      400,
      { message: ['a is short', 'b is long'], error, statusCode: 400 },
      {
        code: 'BAD_REQUEST',
        message: 'a is short; b is long',
        statusCode: 400,
        details: { messages: ['a is short', 'b is long'] }
      }
    ],
    [
      'an object',
      409,
      { order: 7 },
      { code: 'CONFLICT', message: 'Http Exception', statusCode: 409, details: { order: 7 } }
    ],
    ['a status without a name', 418, 'tea', { code: 'HTTP_418', message: 'tea', statusCode: 418 }],
    ['an outage', 503, 'later', { code: 'SERVICE_UNAVAILABLE', message: 'later', statusCode: 503 }]
  ]
  for (const [what, status, response, answer] of cases) {
    it(`with ${what} is an answer`, () => {
      assert.deepEqual(readFailure(exception(status, response)), { answer: { status: 'error', ...answer } })
    })
  }

  for (const status of [500, 200, undefined, '400']) {
    it(`with the status ${status} is unexpected`, () => {
      assert.deepEqual(readFailure(exception(status, 'secret')), { logged: true })
    })
  }

  it('whose methods throw is unexpected', () => {
    const thrown = Object.assign(new Error(), {
      getStatus: () => 400,
      getResponse() {
        throw new Error('secret')
      }
    })
    assert.deepEqual(readFailure(thrown), { logged: true })
  })
})
