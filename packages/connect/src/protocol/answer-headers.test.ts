import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { readTrailers } from '../testing/read-trailers.ts'
import { answerHeaders } from './answer-headers.ts'
import { trailerBlock } from './grpc-trailers.ts'

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

  for (const [name, value, words] of [
    ['x y', '1', /is no name of an HTTP header/],
    ['', '1', /is no name of an HTTP header/],
    ['Content-Type', 'text/html', /needs it/],
    ['grpc-status', '0', /needs it/],
    ['x-word', 'é', /printable ASCII/],
    ['x-lines', 'a\r\ngrpc-status: 0', /printable ASCII/]
  ] as const)
    it(`cannot be ${JSON.stringify([name, value])}`, () => {
      for (const place of ['headers', 'trailers'])
        assert.throws(() => answerHeaders(JSON.stringify({ [place]: { [name]: value } })), {
          name: 'OptionError',
          message: words
        })
    })

  it('never add a line to the trailers of gRPC-Web', () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), (given) => {
        try {
          const { trailers } = answerHeaders(JSON.stringify({ trailers: given }))
          if (trailers.length === 0) return
          assert.equal(
            readTrailers(trailerBlock(trailers)).size,
            new Set(trailers.map(([name]) => name)).size
          )
        } catch (error) {
          assert.ok(error instanceof OptionError, String(error))
        }
      })
    ))
})
