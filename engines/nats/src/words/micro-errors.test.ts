import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errorHeaders, readMicroError } from './micro-errors.ts'

const CODE = 'Nats-Service-Error-Code'
const MESSAGE = 'Nats-Service-Error'

describe("an error of NATS's micro services", () => {
  it('has the status that other micro services answer with, in one line', () => {
    const codes = ['VALIDATION', 'BAD_REQUEST', 'UNAUTHENTICATED', 'PATTERN_NOT_FOUND', 'REJECTED', 'TIMEOUT']
    assert.deepEqual(
      [...codes, 'OWN', undefined].map((code) => errorHeaders(code, '')[CODE]),
      ['422', '400', '401', '404', '503', '504', '500', '500']
    )
    assert.equal(errorHeaders('OWN', 'a\r\n b')[MESSAGE], 'a b')
  })

  it('is read from its headers, with its body; an answer without a code is none', () => {
    const read = (headers: Record<string, string>) => {
      const { code, message, received } = readMicroError(headers, 'body') ?? {}
      return [code, message, received]
    }
    assert.deepEqual(read({ [CODE]: '404', [MESSAGE]: 'not here' }), ['404', 'not here', 'body'])
    assert.deepEqual(read({ [CODE]: '500' }), ['500', '', 'body'])
    for (const headers of [{}, { [CODE]: '' }, { [MESSAGE]: 'x' }] as Record<string, string>[])
      assert.equal(readMicroError(headers, 'body'), undefined)
  })
})
