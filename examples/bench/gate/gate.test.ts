import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { randomFrom } from '@elysia-microservices/test-support'
import { readBenchOptions } from '../options/bench-options.ts'
import { type GateOptions, readGateOptions } from '../options/gate-options.ts'
import type { Figure } from '../report/figures.ts'
import { measurement } from '../test-support/measurement.ts'
import { decide, type Pair, pairsNeeded, type Rule } from './decide.ts'
import { describeGate, isPassed, type MeasureSide, runGate } from './run.ts'
import { probabilityOfDrop } from './signed-rank.ts'

const RULE: Rule = { tolerance: 0.02, falseAlarms: 0.05, findings: 4 }

type Noise = (next: () => number) => number

const normal =
  (deviation: number): Noise =>
  (next) =>
    deviation * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())

/** The noise of a machine that is busy with other work in one of ten runs. */
const withStalls: Noise = (next) => normal(0.02)(next) - (next() < 0.1 ? 0.7 * next() : 0)

/** Noise that both runs of a pair share, as when the whole machine slows down. */
const drifting = (pair: number) => 1 + 0.4 * Math.sin(pair)

/** How many of `gates` gates fail if a figure changes by the factor `change`. */
function failures(
  change: number,
  noise: Noise,
  { runs = 9, gates = 400, figure = 'rps' as Figure } = {}
): number {
  const next = randomFrom(42)
  return Array.from({ length: gates }, () => {
    const pairs = Array.from({ length: runs }, (_, pair): Pair => {
      const value = () => 100_000 * drifting(pair) * Math.exp(noise(next))
      return { head: change * value(), base: value() }
    })
    return decide(figure, pairs, RULE)!.failed
  }).filter(Boolean).length
}

describe('a gate', () => {
  const cases: [what: string, change: number, noise: Noise, atLeast: number, atMost: number][] = [
    ['lets pass what is the same, without noise', 1, normal(0), 0, 0],
    ['lets pass what is the same, on a quiet machine', 1, normal(0.005), 0, 0],
    ['lets pass what is the same, on a noisy machine', 1, normal(0.1), 0, 8],
    ['lets pass what is the same, on a machine with stalls', 1, withStalls, 0, 8],
    ['lets pass what is better', 1.2, normal(0.05), 0, 0],
    ['lets pass a drop within the tolerance', 0.99, normal(0.005), 0, 4],
    ['lets pass a small drop that the spread explains', 0.96, normal(0.2), 0, 12],
    ['stops a drop of 5 % on a quiet machine', 0.95, normal(0.005), 400, 400],
    ['stops a drop of 10 %', 0.9, normal(0.03), 390, 400],
    ['stops a drop of 20 % on a noisy machine, mostly', 0.8, normal(0.1), 280, 400],
    ['stops a drop of 20 % on a machine with stalls, mostly', 0.8, withStalls, 250, 400]
  ]
  for (const [what, change, noise, atLeast, atMost] of cases) {
    it(`${what} (${atLeast} to ${atMost} of 400)`, () => {
      const failed = failures(change, noise)
      assert.ok(failed >= atLeast && failed <= atMost, `${failed} failed`)
    })
  }

  it('knows for which figures a higher value is worse', () => {
    const figure = 'serverCpuUsPerRequest'
    assert.equal(failures(1.1, normal(0.01), { figure }), 400)
    assert.equal(failures(0.9, normal(0.01), { figure }), 0)
  })

  it('cannot fail with fewer pairs than are needed, and can with those', () => {
    const needed = pairsNeeded(RULE)
    assert.equal(needed, 7)
    assert.equal(failures(0.1, normal(0), { runs: needed - 1, gates: 1 }), 0)
    assert.equal(failures(0.1, normal(0), { runs: needed, gates: 1 }), 1)
  })

  it('reports the size of the drop, from the lowest to the highest pair', () => {
    const pairs = [90, 80, 70].map((head) => ({ head, base: 100 }))
    assert.deepEqual(decide('rps', pairs, RULE)?.ratio, { median: 0.8, min: 0.7, max: 0.9 })
    assert.equal(decide('rps', [], RULE), null)
  })
})

describe('a run of a gate', () => {
  const options = readGateOptions([
    '--base=x',
    '--runs=8',
    '--payloads=flat',
    '--handlers=sync'
  ]) as GateOptions
  const measuring = (change: number, errors = 0) => {
    const next = randomFrom(7)
    const turns: string[] = []
    const measure: MeasureSide = async (side, load, run) => {
      turns.push(`${run} ${load.name} ${side}`)
      const rps = (load.layout === 'shared' && side === 'head' ? change : 1) * Math.exp(normal(0.02)(next))
      return { ...measurement({ rps, serverCpuUsPerRequest: 1 / rps }), errors: side === 'head' ? errors : 0 }
    }
    return { turns, measure }
  }

  it('alternates between the commits, and changes their order in every other run', async () => {
    const { turns, measure } = measuring(1)
    const result = await runGate(options, measure)
    assert.equal(turns.length, 2 * 2 * 8)
    assert.deepEqual(turns.slice(0, 6), [
      '0 per-client, flat head',
      '0 per-client, flat base',
      '0 shared, flat head',
      '0 shared, flat base',
      '1 per-client, flat base',
      '1 per-client, flat head'
    ])
    assert.ok(isPassed(result))
    assert.match(
      describeGate(result)[0]!,
      /^ok {4}per-client, flat {2}req\/s: [\d.]+x of base \([\d.]+x to [\d.]+x\); chance/
    )
  })

  it('finds a drop in every figure that shows it', async () => {
    const result = await runGate(options, measuring(0.8).measure)
    assert.ok(!isPassed(result))
    assert.deepEqual(
      result.findings.filter(({ failed }) => failed).map(({ load, figure }) => [load, figure]),
      [
        ['shared, flat', 'rps'],
        ['shared, flat', 'serverCpuUsPerRequest']
      ]
    )
    assert.match(describeGate(result)[2]!, /^DROP {2}shared, flat {2}req\/s: 0\.8\dx/)
  })

  it('does not pass with errors, or if nothing was measured', async () => {
    const broken = await runGate(options, measuring(1, 3).measure)
    assert.ok(!isPassed(broken))
    assert.equal(describeGate(broken).at(-1), '48 requests to head failed')
    const nothing = await runGate(options, async () => measurement({ rps: 0, serverCpuUsPerRequest: null }))
    assert.ok(!isPassed(nothing))
    assert.deepEqual(describeGate(nothing), ['nothing was measured'])
  })

  for (const [flags, message] of [
    [[], /--base: missing, expected a commit/],
    [['--base=x', '--runs=7'], /--runs: got '7', expected at least 8: with fewer, no drop/],
    [
      ['--base=x', '--runs=5', '--figures=rps', '--shapes=shared', '--payloads=flat', '--handlers=sync'],
      undefined
    ],
    [['--base=x', '--payloads=list:5'], /--payloads: got 'list:5'/],
    [['--base=x', '--handlers=slow'], /--handlers: got 'slow', expected one or more of sync, async, waits/],
    [['--base=x', '--target=custom'], /--target: got 'custom'/]
  ] as const) {
    it(`${message === undefined ? 'takes' : 'refuses'} '${flags.join(' ')}'`, () => {
      if (message === undefined) readGateOptions(flags)
      else assert.throws(() => readGateOptions(flags), message)
    })
  }
})

describe('the loads of a gate', () => {
  const namesOf = (...flags: string[]) =>
    (readGateOptions(['--base=x', '--shapes=shared', ...flags]) as GateOptions).loads.map(({ name }) => name)

  it('are texts and objects, and handlers that wait', () => {
    assert.deepEqual(namesOf(), ['shared, flat', 'shared, object', 'shared, flat, handler waits'])
  })

  it('use only flags that an older bench knows', () => {
    const { loads } = readGateOptions(['--base=x']) as GateOptions
    assert.deepEqual(loads[0]!.flags(100), {
      concurrency: 100,
      connections: 100,
      shape: 'flat',
      payload: 200
    })
  })

  it('are those of the options, and measurements accept each of them', () => {
    const asked = ['--payloads=list,flat:9', '--handlers=async', '--generators=sync,observable']
    const names = ['list, handler async', 'flat, handler async', 'one stream, generator sync']
    assert.deepEqual(
      namesOf(...asked),
      [...names, 'one stream, generator observable'].map((name) => `shared, ${name}`)
    )
    for (const flags of [[], asked]) {
      const { loads } = readGateOptions(['--base=x', '--runs=20', ...flags]) as GateOptions
      for (const load of loads) {
        const given = Object.entries(load.flags(100)).map(([name, value]) => `--${name}=${value}`)
        assert.notEqual(readBenchOptions(['--target=elysia', ...given]), 'help')
      }
    }
  })
})

describe('the signed-rank test', () => {
  // One-sided values from published tables.
  for (const [differences, probability] of [
    [[-1, -2, -3, -4, -5], 1 / 32],
    [[1, -2, -3, -4, -5], 2 / 32],
    [[1, 2, 3, 4, 5], 1],
    [[-1, -1, -1], 1 / 8],
    [[0], 0.5],
    [[], 1]
  ] as const) {
    it(`gives [${differences}] a probability of ${probability}`, () => {
      assert.equal(probabilityOfDrop(differences), probability)
    })
  }

  it('is about one half for differences without a direction', () => {
    const p = probabilityOfDrop([1, -1, 2, -2, 3, -3])
    assert.ok(p > 0.4 && p < 0.7, String(p))
  })
})
