import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readComparisonOptions } from './comparison-options.ts'

const DEFAULTS = {
  targets: ['elysia', 'nest'],
  runs: 3,
  clients: ['own'],
  duration: 6,
  warmup: 1,
  concurrency: 100,
  shape: 'flat',
  payload: 200,
  runtime: 'bun',
  method: 'request',
  protocol: 'rsocket',
  codec: 'json',
  out: undefined
}

describe('options of a comparison', () => {
  const accepted: [flags: string[], differs: object][] = [
    [[], {}],
    [['--runs=5'], { runs: 5 }],
    [['--clients=raw,own'], { clients: ['raw', 'own'] }],
    [
      ['--duration=1.5', '--warmup=0', '--concurrency=1', '--payload=9'],
      { duration: 1.5, warmup: 0, concurrency: 1, payload: 9 }
    ],
    [['--runtime=node', '--out=a.json'], { runtime: 'node', out: 'a.json' }],
    [['--targets=nest,elysia'], { targets: ['nest', 'elysia'] }],
    [['--targets=nest'], { targets: ['nest'] }],
    [['--method=send'], { method: 'send' }],
    [['--codec=msgpack'], { codec: 'msgpack' }],
    [['--shape=large'], { shape: 'large', payload: 262_144 }],
    [['--shape=binary', '--codec=bytes'], { shape: 'binary', payload: 16_384, codec: 'bytes' }],
    [['--shape=binary', '--targets=nest'], { shape: 'binary', payload: 16_384, targets: ['nest'] }],
    [['--shape=binary', '--clients=nest'], { shape: 'binary', payload: 16_384, clients: ['nest'] }]
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
    ['--target=nest', /Unknown option '--target'. Allowed: --targets --runs --clients/],
    ['--targets=rails', /--targets: got 'rails', expected one or more of elysia, nest/],
    ['--shape=binary', /--codec: got 'json' with --shape=binary, expected bytes or msgpack/],
    ['--codec=bytes', /--codec: got 'bytes' with --shape=flat, expected json or msgpack/],
    ['--method=emit', /--method: got 'emit', expected request or send/]
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
