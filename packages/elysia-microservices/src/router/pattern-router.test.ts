import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { routeOf } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import type { HandlerPattern } from './handler-pattern.ts'
import { PatternRouter } from './pattern-router.ts'

function routerOf(...patterns: HandlerPattern[]): PatternRouter<HandlerPattern> {
  const router = new PatternRouter<HandlerPattern>()
  for (const pattern of patterns) router.getOrAdd(pattern, () => pattern)
  return router
}

/** The handler of a request: that of the exact pattern, else the one that `inexact` finds. */
function find(router: PatternRouter<HandlerPattern>, route: string) {
  const exact = router.exact.get(route)
  return exact !== undefined ? { value: exact, params: [] } : router.inexact(route)
}

describe('PatternRouter', () => {
  const router = routerOf(
    '>',
    /^order-(?<id>\d+)$/,
    /^order-/,
    'orders.>',
    'orders.*',
    '*.created',
    'orders.*.items.*',
    'orders.created',
    'a*',
    7,
    { cmd: 'a.b' },
    ''
  )
  for (const [route, pattern, params] of [
    ['orders.created', 'orders.created', []],
    ['orders.deleted', 'orders.*', ['deleted']],
    ['users.created', '*.created', ['users']],
    ['orders.7.items.2', 'orders.*.items.*', ['7', '2']],
    ['orders.7.items', 'orders.>', ['7.items']],
    ['orders..items.2', 'orders.>', ['.items.2']],
    ['orders.', '>', []],
    ['orders', '>', []],
    ['a*', 'a*', []],
    ['ab', '>', []],
    ['order-x', /^order-/, []],
    ['7', 7, []],
    ['', '', []],
    ['{"cmd":"a.b"}', { cmd: 'a.b' }, []],
    ['{"cmd":"x.created"}', '>', []]
  ] as const) {
    it(`finds ${String(pattern)} for '${route}'`, () => {
      const match = find(router, route)!
      assert.deepEqual(match.value, pattern)
      assert.deepEqual([...match.params], params)
    })
  }

  it('gives the groups of a RegExp, by position and by name', () => {
    const { params } = router.inexact('order-12')!
    assert.equal(params[0], '12')
    assert.deepEqual({ ...params.groups }, { id: '12' })
  })

  it('matches a RegExp against the canonical text of an object, from its beginning each time', () => {
    const objects = routerOf(/"cmd":"(\w+)"/g)
    for (let round = 0; round < 2; round++) {
      assert.deepEqual([...objects.inexact(routeOf({ v: 1, cmd: 'sum' }))!.params], ['sum'])
    }
  })

  it('finds nothing where nothing matches, and nothing for what is no pattern', () => {
    assert.equal(routerOf('a', 'a.*', /^b$/).inexact('b.c'), undefined)
    assert.equal(router.inexact(undefined), undefined)
    assert.deepEqual(router.all(undefined), [])
  })

  it('knows equal patterns as one', () => {
    const same = new PatternRouter<object>()
    for (const pattern of ['a', 'a.*', 'a.>', '>', /a/i, { a: 1, b: 2 }]) {
      const value = same.getOrAdd(pattern, () => ({}))
      assert.equal(
        same.getOrAdd(pattern, () => ({})),
        value
      )
    }
    assert.notEqual(
      same.getOrAdd(/a/, () => ({})),
      same.getOrAdd(/a/i, () => ({}))
    )
  })

  it("refuses '>' before the end, and what is no pattern", () => {
    assert.throws(() => routerOf('a.>.b'), { name: 'OptionError', message: /last segment/ })
    assert.throws(() => routerOf(null as never), { name: 'OptionError' })
  })
})

/** A naive implementation for comparison, which tries every pattern. */
function naiveMatches(patterns: readonly string[], route: string): string[] {
  const segments = route.split('.')
  const matches = (pattern: string) => {
    if (pattern === '>') return true
    const parts = pattern.split('.')
    for (const [index, part] of parts.entries()) {
      if (part === '>') return segments.slice(index).join('.') !== ''
      if (index >= segments.length) return false
      if (part === '*' ? segments[index] === '' : part !== segments[index]) return false
    }
    return parts.length === segments.length
  }
  // 0 for text, 1 for `*`, 2 for `>`. Patterns are compared from the left, and the lowest rank wins; the catch-all
  // comes last.
  const rank = (pattern: string) =>
    pattern === '>'
      ? '3'
      : pattern
          .split('.')
          .map((part) => (part === '>' ? '2' : part === '*' ? '1' : '0'))
          .join('')
  const isWildcard = (pattern: string) => /(^|\.)[*>](\.|$)/.test(pattern)
  const found = [...new Set(patterns)].filter((pattern) => pattern === route || matches(pattern))
  return found.sort((a, b) => {
    const exact = Number(isWildcard(a)) - Number(isWildcard(b))
    return exact !== 0 ? exact : rank(a) < rank(b) ? -1 : 1
  })
}

describe('PatternRouter and the obvious implementation', () => {
  const segment = fc.constantFrom('a', 'b', '', '7')
  const route = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'))
  const pattern = fc
    .tuple(
      fc.array(fc.oneof(segment, fc.constant('*')), { minLength: 0, maxLength: 4 }),
      fc.constantFrom([], ['>'])
    )
    .map(([parts, rest]) => [...parts, ...rest].join('.'))

  it('agree on everything that matches, and on the order', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 12 }), route, (patterns, asked) => {
        const router = routerOf(...patterns)
        const expected = naiveMatches(patterns, asked)
        assert.deepEqual(
          router.all(asked).map(({ value }) => value),
          expected
        )
        assert.equal(find(router, asked)?.value, expected[0])
      }),
      { numRuns: runs(2000) }
    )
  })

  it('agree on what the wildcards stand for: put in their place, it is the route again', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 12 }), route, (patterns, asked) => {
        for (const { value, params } of routerOf(...patterns).all(asked)) {
          if (value === '>') continue
          let next = 0
          const filled = String(value)
            .split('.')
            .map((part) => (part === '*' || part === '>' ? params[next++] : part))
          assert.equal(filled.join('.'), asked)
          assert.equal(next, params.length)
        }
      }),
      { numRuns: runs(1000) }
    )
  })
})
