import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport'
import { load } from './nest-transport.ts'

describe("the package of a transport that Nest's options name", () => {
  const refusal = (...codes: string[]) => {
    try {
      load('@elysia-microservices/kafka', () => () => {
        const code = codes.shift() ?? ''
        throw Object.assign(new Error(`for ${code}`), { code })
      })
    } catch (error) {
      assert.ok(error instanceof OptionError)
      return error.message
    }
  }

  it('is to be installed only if it is not there: the error says why another one cannot be loaded', () => {
    const NONE = 'MODULE_NOT_FOUND'
    assert.match(refusal(NONE, NONE) ?? '', /not there: npm install @elysia-microservices\/kafka$/)
    for (const codes of [
      ['ESM', NONE],
      [NONE, 'ESM'],
      ['ESM', 'other']
    ])
      assert.match(refusal(...codes) ?? '', /is there and cannot be loaded: for ESM\. Jest/)
  })
})
