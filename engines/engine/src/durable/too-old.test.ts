import assert from 'node:assert/strict'
import { it } from 'node:test'
import { whyTooOld } from './too-old.ts'

it('an event can come again after a pause if its store still has it then', () => {
  const stored = 1_000
  assert.equal(whyTooOld(stored, 500, 100, 1_399), undefined)
  assert.match(
    whyTooOld(stored, 500, 100.4, 1_400) ?? '',
    /in 100 ms, and its store keeps it no longer \(maxAge: 500 ms\)/
  )
  assert.notEqual(whyTooOld(stored, 1, 0, 2_000), undefined)
  assert.equal(whyTooOld(stored, 0, 100, 9_000_000), undefined, 'kept for ever')
})
