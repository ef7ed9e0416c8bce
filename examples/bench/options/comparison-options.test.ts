import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readComparisonOptions } from './comparison-options.ts'

const DEFAULTS = {
  runs: 3,
  clients: ['own'],
  duration: 6,
  warmup: 1,
  concurrency: 100,
  payload: 200,
  runtime: 'bun',
  protocol: 'rsocket',
  out: undefined
}

describe('options of a comparison', () => {
  const accepted: [flags: string[], differs: object][] = [
    [[], {}],
    [['--runs=5'], { runs: 5 }],
    [['--clients=raw,own'], { clients: ['own', 'raw'] }],
    [
      ['--duration=1.5', '--warmup=0', '--concurrency=1', '--payload=9'],
      { duration: 1.5, warmup: 0, concurrency: 1, payload: 9 }
    ],
    [['--runtime=node', '--out=a.json'], { runtime: 'node', out: 'a.json' }]
  ]
  for (const [flags, differs] of accepted) {
    it(`reads '${flags.join(' ')}'`, () => {
      assert.deepEqual(readComparisonOptions(flags), { ...DEFAULTS, ...differs })
    })
  }

  const rejected: [flag: string, message: RegExp][] = [
    ['--runs=0', /--runs: got '0', expected a whole number from 1 to 1000/],
    ['--clients=', /--clients: got '', expected one or more of own, nest, raw, separated by commas/],
    ['--clients=own,own', /--clients: got 'own,own'/],
    ['--clients=own,http', /--clients: got 'own,http'/],
    ['--out=', /--out: got '', expected a path/],
    ['--target=nest', /Unknown option '--target'. Allowed: --runs --clients/]
  ]
  for (const [flag, message] of rejected) {
    it(`rejects '${flag}' and says what is allowed`, () => {
      assert.throws(() => readComparisonOptions([flag]), message)
    })
  }

  it('can be asked for help', () => {
    assert.equal(readComparisonOptions(['--help']), 'help')
  })
})
