import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { routeMatches } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { matcherOf, startOf } from './groups.ts'

describe('a pattern with wildcards', () => {
  const segment = fc.constantFrom('a', 'b', '', 'a+', '(a', '^$', '[b]', '\\', '|', '{2}', '?')

  it('matches in PostgreSQL what it matches elsewhere, whatever characters it has', () => {
    const pattern = fc
      .array(fc.oneof(segment, fc.constantFrom('*', '>')), { minLength: 1, maxLength: 4 })
      .map((segments) => segments.join('.'))
    const route = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('.'))
    fc.assert(
      fc.property(pattern, route, (one, other) => {
        assert.equal(new RegExp(matcherOf(one)).test(other), routeMatches(one, other))
      }),
      { numRuns: runs(300) }
    )
  })
})

describe('the start of a group', () => {
  it('is new, all, a time or a position', () => {
    const since = new Date(5)
    assert.deepEqual(
      [startOf('new'), startOf('all'), startOf({ since }), startOf({ after: '17' })],
      [{ kind: 'new' }, { kind: 'all' }, { kind: 'since', since }, { kind: 'after', after: '17' }]
    )
  })

  for (const after of ['1-0', '-1', '1.5', '', ' 1', '1'.repeat(19)])
    it(`is no position such as '${after}'`, () => {
      assert.throws(() => startOf({ after }), {
        name: 'OptionError',
        message: /start\.after must be a position that publish\(\) gave, such as '17'/
      })
    })
})
