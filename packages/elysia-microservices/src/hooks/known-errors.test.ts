/** Which registered class gives an error its code. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import { classesOf, codeOf, type ErrorClass, knownErrors, toAnswer } from './known-errors.ts'

class AppError extends Error {}
class NotFound extends AppError {
  readonly details = { id: 7 }
}
class OrderNotFound extends NotFound {}

const known = (classes: Record<string, ErrorClass>) => knownErrors(classesOf(classes, 'local'))

describe('the code of an error', () => {
  it('is that of the closest class, in whatever order the classes were registered', () => {
    for (const all of [
      known({ APP: AppError, NOT_FOUND: NotFound }),
      known({ NOT_FOUND: NotFound, APP: AppError })
    ]) {
      assert.equal(codeOf(new AppError(), all), 'APP')
      assert.equal(codeOf(new NotFound(), all), 'NOT_FOUND')
      assert.equal(codeOf(new OrderNotFound(), all), 'NOT_FOUND')
      assert.equal(codeOf(new Error('other'), all), 'UNKNOWN')
    }
  })

  it('may be the code of several classes', () => {
    class Other extends Error {}
    const all = knownErrors(classesOf({ GONE: NotFound }, 'local'), classesOf({ GONE: Other }, 'local'))
    assert.equal(codeOf(new NotFound(), all), 'GONE')
    assert.equal(codeOf(new Other(), all), 'GONE')
  })

  it("is this library's own code where that is closer than the code of a base class", () => {
    const all = known({ ANY: Error })
    assert.equal(codeOf(new ValidationError('data', 'a text', 7), all), 'VALIDATION')
    assert.equal(codeOf(new RpcError('no'), all), 'RPC')
    assert.equal(codeOf(new TypeError('no'), all), 'ANY')
    class Mine extends RpcError {}
    assert.equal(codeOf(new Mine('no'), known({ ANY: Error, MINE: Mine })), 'MINE')
  })

  it('is unknown where nothing can be read', () => {
    const throwing = new Proxy(new AppError(), {
      getPrototypeOf() {
        throw new Error('trap')
      }
    })
    const all = known({ APP: AppError })
    for (const error of [undefined, null, 'text', 7, Object.create(null), throwing])
      assert.equal(codeOf(error, all), 'UNKNOWN')
    assert.equal(toAnswer(throwing, all), throwing)
  })
})

describe('registered classes', () => {
  it('are classes, and their codes are texts', () => {
    for (const given of [
      { A: undefined },
      { A: 'Error' },
      { A: () => {} },
      { A: new Error() },
      { '': Error }
    ])
      assert.throws(() => classesOf(given, 'local'), { code: 'OPTION' })
  })

  it('make an answer of an error', () => {
    const cause = new OrderNotFound('no order 7')
    const answer = toAnswer(cause, known({ NOT_FOUND: NotFound, APP: AppError })) as RpcError
    const { code, message, details } = answer
    assert.deepEqual(
      { code, message, details },
      { code: 'NOT_FOUND', message: 'no order 7', details: { id: 7 } }
    )
    assert.equal(answer.cause, cause)
  })
})
