import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Declared } from './declared.ts'

describe('the start of a group', () => {
  it('waits until its queue is there, once', async () => {
    const declared = new Declared()
    let hasStarted = false
    const started = declared.soon('The event').then(() => {
      hasStarted = true
    })
    await new Promise(setImmediate)
    assert.equal(hasStarted, false)
    declared.done()
    await started
    await declared.soon('The event')
  })
})
