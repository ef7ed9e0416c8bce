/**
 * The choice of messages that are hit: it is reproducible, does not depend on other rules, and has the given
 * probability.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Fate } from './fate.ts'
import { type ChaosRule, checkChaos } from './options.ts'

function fate(seed: number, ...rules: ChaosRule[]): Fate {
  return new Fate(seed, checkChaos({ seed, rules }).rules)
}

/** For each of `count` messages, whether it is hit. */
function hits(of: Fate, count: number, route = 'a'): boolean[] {
  return Array.from({ length: count }, () => of.of(route) !== undefined)
}

const anySeed = fc.maxSafeInteger()

describe('the fate of messages', () => {
  it('is the same with the same seed, and another with another [property]', () => {
    const rule = { probability: 0.5, latency: [10, 20] } as const
    fc.assert(
      fc.property(anySeed, (seed) => {
        const neighbour = seed > 0 ? seed - 1 : seed + 1
        const [one, same, other] = [seed, seed, neighbour].map((from) => {
          const of = fate(from, rule)
          return JSON.stringify(Array.from({ length: 100 }, () => of.of('a')))
        })
        assert.equal(one, same)
        assert.notEqual(one, other)
      })
    )
  })

  it('of a rule does not hang on the messages of others [property]', () => {
    fc.assert(
      fc.property(
        anySeed,
        fc.array(fc.constantFrom('a', 'b'), { maxLength: 100, size: 'max' }),
        (seed, routes) => {
          const rules = ['a', 'b'].map((pattern) => ({ pattern, probability: 0.5, drop: true }))
          const mixed = fate(seed, ...rules)
          const alone = fate(seed, ...rules)
          const seen = routes.map((route) => [route, mixed.of(route) !== undefined] as const)
          const ofA = seen.filter(([route]) => route === 'a').map(([, hit]) => hit)
          assert.deepEqual(ofA, hits(alone, ofA.length))
        }
      )
    )
  })

  it('is as likely as the rule says', () => {
    for (const probability of [0, 0.1, 0.5, 1]) {
      const count = hits(fate(7, { probability, error: true }), 10_000).filter(Boolean).length
      assert.ok(Math.abs(count - probability * 10_000) <= (probability % 1 === 0 ? 0 : 300), `${count}`)
    }
  })

  it('takes the latency from the range, and the first rule that hits', () => {
    const of = fate(1, { pattern: 'a', probability: 1, latency: [10, 20] }, { probability: 1, drop: true })
    for (let count = 0; count < 100; count++) {
      const { latency = 0, drop } = of.of('a') ?? {}
      assert.ok(latency >= 10 && latency < 20)
      assert.equal(drop, false)
    }
    assert.deepEqual(of.of('b'), { latency: 0, error: undefined, drop: true })
  })

  it('knows every form of pattern', () => {
    const patterns = ['orders.*', /^user-\d+$/, { cmd: 'sum' }, 7]
    const of = fate(1, { pattern: patterns, probability: 1, drop: true })
    for (const route of ['orders.get', 'user-5', '{"cmd":"sum"}', '7']) assert.ok(of.of(route), route)
    for (const route of ['orders', 'orders.get.all', 'user-x', '{"cmd":"other"}', '8', undefined])
      assert.equal(of.of(route), undefined)
  })

  it('cannot be what is no rule', () => {
    const wrong = [
      { probability: 2, drop: true },
      { probability: Number.NaN, drop: true },
      { probability: 1 },
      { probability: 1, latency: -1 },
      { probability: 1, latency: [20, 10] },
      { probability: 1, drop: true, pattern: '>.a' }
    ] as ChaosRule[]
    for (const rule of wrong) assert.throws(() => checkChaos({ rules: [rule] }), { name: 'OptionError' })
    assert.throws(() => checkChaos({ seed: 1.5, rules: [] }), { name: 'OptionError' })
    assert.throws(() => checkChaos({ rules: {} as ChaosRule[] }), { name: 'OptionError' })
  })
})
