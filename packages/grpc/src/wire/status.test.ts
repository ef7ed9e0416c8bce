import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { statusOfHttp, statusOfReset } from './status.ts'

describe('the status', () => {
  it('of answers without one follows from HTTP', () => {
    const read = { 400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14, 200: 2, 500: 2 }
    for (const [http, status] of Object.entries(read)) assert.equal(statusOfHttp(Number(http)), status, http)
  })

  it('of streams that were reset follows from the code', () => {
    const read = { 0: 13, 1: 13, 2: 13, 5: 2, 7: 14, 8: 1, 11: 8, 12: 7, 13: 13, 14: 2, 4294967295: 2 }
    for (const [code, status] of Object.entries(read)) assert.equal(statusOfReset(Number(code)), status, code)
  })
})
