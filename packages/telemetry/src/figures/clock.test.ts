import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { beginning, endedAtOnce, endsLater } from './clock.ts'

describe('the clock of messages', () => {
  it('takes the end of one message for the beginning of the next of its turn, and of no other', async () => {
    const end = endedAtOnce()
    assert.equal(beginning(true), end)
    assert.notEqual(beginning(false), end)
    endsLater()
    assert.notEqual(beginning(true), end)
    const again = endedAtOnce()
    await null
    assert.notEqual(beginning(true), again)
  })
})
