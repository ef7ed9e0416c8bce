import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bySpecificity, hasWildcards, routeMatches } from './wildcards.ts'

describe('wildcards', () => {
  for (const [pattern, route, isMatch] of [
    ['a', 'a', true],
    ['a', 'b', false],
    ['a.*', 'a.b', true],
    ['a.*', 'a', false],
    ['a.*', 'a.b.c', false],
    ['*.b', 'a.b', true],
    ['a.>', 'a.b', true],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['>', 'a.b', true],
    ['a*', 'ab', false]
  ] as const)
    it(`${pattern} ${isMatch ? 'stands' : 'does not stand'} for ${route}`, () =>
      assert.equal(routeMatches(pattern, route), isMatch))

  it('are told from text', () => {
    for (const pattern of ['*', '>', 'a.*', '*.a', 'a.>']) assert.ok(hasWildcards(pattern), pattern)
    for (const pattern of ['a', 'a*', '{"a":"*"}', '']) assert.ok(!hasWildcards(pattern), pattern)
  })

  it('are ordered from the most specific to the least', () => {
    const sorted = ['>', 'a.>', '*.b', 'a.*', 'a.b', 'a.b.>', 'a.b.*'].sort(bySpecificity)
    assert.deepEqual(sorted, ['a.b.*', 'a.b.>', 'a.b', 'a.*', 'a.>', '*.b', '>'])
  })

  it('stand for what is put in their place', () => {
    const segment = fc.stringMatching(/^[a-z]{1,3}$/)
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 5 }),
        fc.array(fc.boolean()),
        (segments, isOne) => {
          const pattern = segments.map((text, index) => (isOne[index] === true ? '*' : text))
          assert.ok(routeMatches(pattern.join('.'), segments.join('.')))
          assert.ok(routeMatches([...pattern.slice(0, -1), '>'].join('.'), segments.join('.')))
          assert.ok(!routeMatches([...pattern, 'end'].join('.'), segments.join('.')))
        }
      )
    )
  })
})
