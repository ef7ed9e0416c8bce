import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { answerHeaders } from './answer-headers.ts'

describe('headers beside an answer', () => {
  it('are lists with names in lower case, and bytes without padding', () =>
    assert.deepEqual(
      answerHeaders('{"headers":{"X-Cache":"hit"},"trailers":{"x-cost":"7","trace-bin":"AAE="}}'),
      {
        headers: [['x-cache', 'hit']],
        trailers: [
          ['x-cost', '7'],
          ['trace-bin', 'AAE']
        ]
      }
    ))

  it('never have a line that ends one', () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), (given) => {
        try {
          const { headers, trailers } = answerHeaders(JSON.stringify({ headers: given, trailers: given }))
          assert.deepEqual(headers, trailers)
          for (const pair of headers) assert.match(pair.join(''), /^[ -~]*$/)
        } catch (error) {
          assert.ok(error instanceof OptionError, String(error))
        }
      })
    ))
})
