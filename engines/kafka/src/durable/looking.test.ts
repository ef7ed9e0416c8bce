import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Looking } from './looking.ts'
import type { Partitions } from './partition.ts'

it('ends its looks two minutes after the last reading although the clock was set back', () => {
  let passed = 0
  let look: (() => void) | undefined
  const clock = {
    now: () => 1e12 - 1_000 * passed,
    passed: () => passed,
    after(_milliseconds: number, wake: () => void) {
      look = wake
      return () => {}
    }
  }
  const looking = new Looking({} as Partitions, () => undefined, clock)
  looking.read()
  let looks = 0
  for (let next = look; next !== undefined && looks < 100; next = look) {
    looks++
    look = undefined
    passed += 5_000
    next()
  }
  assert.equal(looks, 24)
})
