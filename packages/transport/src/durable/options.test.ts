import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { ageOf } from './clock.ts'
import { durableSettings, groupOf } from './options.ts'

describe('the group of a durable handler', () => {
  const own = durableSettings(true)

  it('is the name of the service, and another one for another name', () => {
    assert.equal(groupOf(own, 'billing', 'p'), 'billing')
    assert.equal(groupOf(own, 'shop.x y', 'p'), 'shop~2e~x~20~y')
    const name = fc.oneof(
      fc.stringMatching(/^[ab.~ 2e-]{1,6}$/),
      fc.string({ unit: ANY_CHARACTER, minLength: 1 })
    )
    fc.assert(
      fc.property(name, name, (one, other) => {
        const [group, another] = [groupOf(own, one, 'p'), groupOf(own, other, 'p')]
        assert.equal(group === another, one === other)
        assert.doesNotMatch(group, /[\s.*>/\\]/u)
      }),
      { numRuns: runs(1_000) }
    )
  })

  it('cannot be named as another service would be', () => {
    assert.throws(() => durableSettings({ group: 'shop~2e~x' }), { path: 'options.durable.group' })
  })
})

describe('the age of an event', () => {
  it('is a number of milliseconds, whatever the clocks say', () => {
    assert.deepEqual(
      [
        ageOf(1, 3),
        ageOf(3, 1),
        ageOf(Number.NaN, 1),
        ageOf(1, Number.NaN),
        ageOf(0, Number.POSITIVE_INFINITY)
      ],
      [2, 0, 0, 0, 0]
    )
  })
})
