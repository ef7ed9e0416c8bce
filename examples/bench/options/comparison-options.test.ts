import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readComparisonOptions } from './comparison-options.ts'

const DEFAULTS = {
  targets: ['elysia', 'nest'],
  runs: 3,
  task: { mode: 'request', handler: 'sync' },
  clients: ['own'],
  duration: 6,
  warmup: 1,
  layouts: ['per-client', 'shared'],
  concurrency: [100],
  payloads: [{ shape: 'flat', payload: 200 }],
  custom: null,
  rate: null,
  sloMs: null,
  processes: 1,
  runtimes: ['bun'],
  method: 'request',
  protocol: 'rsocket',
  codec: 'json',
  full: null,
  out: undefined,
  patience: 60,
  within: null,
  from: []
}

const RECORD = [{ shape: 'record', payload: 36 }]
const BINARY = [{ shape: 'binary', payload: 16_384 }]

describe('options of a comparison', () => {
  const accepted: [flags: string[], differs: object][] = [
    [[], {}],
    [['--runs=5'], { runs: 5 }],
    [['--patience=3', '--within=0.5'], { patience: 3, within: 30 }],
    [
      ['--full', '--duration=1', '--runtimes=bun', '--within=5'],
      {
        duration: 1,
        within: 300,
        full: { times: { duration: 1 }, runtimes: ['bun'], patience: undefined, within: 300 }
      }
    ],
    [['--clients=raw,own'], { clients: ['raw', 'own'] }],
    [
      ['--duration=1.5', '--warmup=0', '--concurrency=1', '--payload=9'],
      { duration: 1.5, warmup: 0, concurrency: [1], payloads: [{ shape: 'flat', payload: 9 }] }
    ],
    [['--runtime=node', '--out=a.json'], { runtimes: ['node'], out: 'a.json' }],
    [['--targets=nest,elysia'], { targets: ['nest', 'elysia'] }],
    [['--targets=nest'], { targets: ['nest'] }],
    [['--method=send'], { method: 'send' }],
    [['--codec=msgpack'], { codec: 'msgpack' }],
    [['--shape=large'], { payloads: [{ shape: 'large', payload: 262_144 }] }],
    [['--shape=binary', '--codec=bytes'], { payloads: BINARY, codec: 'bytes' }],
    [['--shape=binary', '--targets=nest'], { payloads: BINARY, targets: ['nest'] }],
    [['--shape=binary', '--clients=nest'], { payloads: BINARY, clients: ['nest'] }],
    [['--rate=9', '--processes=2'], { rate: 9, processes: 2 }],
    [['--find-capacity'], { rate: 1000, sloMs: 5 }],
    [
      ['--targets=custom', '--port=9', '--pattern=orders.get', '--data=[1]', '--protocol=nest'],
      {
        targets: ['custom'],
        protocol: 'nest',
        custom: {
          pattern: 'orders.get',
          flags: { pattern: 'orders.get', data: '[1]', port: '9' },
          payload: { shape: 'custom', payload: 3 }
        },
        payloads: [{ shape: 'custom', payload: 3 }]
      }
    ],
    [['--shapes=shared'], { layouts: ['shared'] }],
    [['--handler=waits'], { task: { mode: 'request', handler: 'waits' } }],
    [
      ['--mode=stream', '--generator=async'],
      {
        task: { mode: 'stream', generator: 'async', take: 'iterate', values: 100_000, pause: 0 },
        payloads: RECORD,
        concurrency: [1],
        layouts: ['shared']
      }
    ],
    [
      ['--mode=stream', '--streams=1,100', '--values=10'],
      {
        task: { mode: 'stream', generator: 'sync', take: 'iterate', values: 10, pause: 0 },
        payloads: RECORD,
        concurrency: [1, 100]
      }
    ],
    [
      ['--mode=emit', '--batch=9'],
      { task: { mode: 'emit', batch: 9, busy: 0 }, concurrency: [1], layouts: ['shared'] }
    ],
    [['--mode=start'], { task: { mode: 'start' }, concurrency: [1], layouts: ['shared'] }],
    [['--concurrency=1,10,100,1000'], { concurrency: [1, 10, 100, 1000] }],
    [
      ['--payloads=flat:7,large'],
      {
        payloads: [
          { shape: 'flat', payload: 7 },
          { shape: 'large', payload: 262_144 }
        ]
      }
    ],
    [['--runtimes=node,bun'], { runtimes: ['node', 'bun'] }],
    [['--from', 'a.json', 'b.json', '--runs=1'], { from: ['a.json', 'b.json'], runs: 1 }],
    [['--from=a.json,b.json'], { from: ['a.json', 'b.json'] }]
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
    ['--targets=rails', /--targets: got 'rails', expected one or more of elysia, .*nest, .*raw/],
    ['--shape=binary', /--codec: got 'json' with --shape=binary, expected bytes or msgpack/],
    ['--codec=bytes', /--codec: got 'bytes' with --shape=flat, expected json, msgpack or shapes/],
    ['--shapes=object', /--shapes: got 'object', expected one or more of per-client, shared/],
    ['--shapes=shared,shared', /--shapes: got 'shared,shared'/],
    ['--concurrency=1,x', /--concurrency: got '1,x', expected whole numbers from 1 to 10000/],
    ['--concurrency=5,5', /--concurrency: got '5,5'/],
    ['--payloads=round', /--payloads: got 'round', expected one or more of flat, object/],
    ['--payloads=object:5', /--payloads: got 'object:5'/],
    ['--payloads=flat:x', /--payloads: got 'flat:x'/],
    ['--payloads=flat,binary', /--codec: got 'json' with --shape=binary/],
    ['--payloads=flat --payload=5', /--payload: got '5' with --payloads, expected --payloads=flat:5/],
    ['--payloads=flat --shape=list', /--shape: given together with its plural/],
    ['--runtimes=bun --runtime=node', /--runtime: given together with its plural/],
    ['--targets=custom', /--pattern: missing/],
    ['--targets=custom --pattern=x', /--port: missing/],
    ['--targets=custom,nest --pattern=x --port=1', /--targets: got 'custom,nest', but no other target/],
    ['--port=1', /--host and --port are for the target custom/],
    ['--processes=4 --concurrency=100,2', /--concurrency: got '2', expected one or more for each of the 4/],
    ['--rate=5 --clients=raw', /--rate: the raw client/],
    ['--full --targets=nest', /--targets: given with --full, which has its own plan/],
    ['--within=x', /--within: got 'x', expected minutes, a number from 0\.1 to 1440/],
    ['--full --mode=emit', /--mode: given with --full, which has its own plan/],
    ['--mode=stream --payloads=flat', /--payloads: got '.*' with --mode=stream, which has no such flag/],
    ['--from', /--from/],
    ['--from=', /--from: got ''/],
    ['--method=emit', /--method: got 'emit', expected request or send/]
  ]
  for (const [flag, message] of rejected) {
    it(`rejects '${flag}' and names the allowed values`, () => {
      assert.throws(() => readComparisonOptions(flag.split(' ')), message)
    })
  }

  it('can be the flag for help', () => {
    assert.equal(readComparisonOptions(['--help']), 'help')
  })
})
