import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compare } from './compare.ts'
import { BenchError } from './errors.ts'
import { type ComparisonOptions, readComparisonOptions } from './options/comparison-options.ts'
import type { TargetName } from './peers/targets.ts'
import { type Entrant, type Plan, planOf } from './plan.ts'
import type { BenchFlags } from './process/bench-process.ts'
import { isClean, isMeasured } from './report/comparison.ts'
import { describeConditions } from './report/conditions.ts'
import type { Comparison } from './report/schema.ts'
import { renderComparison } from './report/table.ts'
import { measurement } from './test-support/measurement.ts'

const planned = (...flags: string[]): Plan =>
  planOf(readComparisonOptions(['--shapes=shared', '--runs=2', ...flags]) as ComparisonOptions)

/** A measuring function that measures nothing, and remembers the flags of each call. */
function measuring(give: (flags: BenchFlags) => Parameters<typeof measurement>[0] = () => ({})) {
  const asked: BenchFlags[] = []
  const measure = async (flags: BenchFlags) => {
    asked.push(flags)
    return measurement({ target: flags['target'] as TargetName, ...give(flags) })
  }
  return { asked, measure }
}

async function comparing(plan: Plan, bench: { measure: ReturnType<typeof measuring>['measure'] }) {
  const kept: Comparison[] = []
  const comparison = await compare(plan, 'bun run compare', bench, async (soFar) => kept.push(soFar))
  return { comparison, kept }
}

const namesOf = ({ contests }: Comparison) => contests[0]!.results.map(({ target }) => target)

describe('a comparison that is running', () => {
  it('reports everything that is not measured yet as missing', async () => {
    const bench = measuring()
    const { comparison, kept } = await comparing(planned(), bench)
    assert.deepEqual(
      bench.asked.map((flags) => flags['target']),
      ['elysia', 'nest', 'elysia', 'nest']
    )
    assert.equal(kept.length, 4)
    assert.ok(isClean(comparison))
    const [first] = kept
    assert.ok(!isClean(first!))
    assert.deepEqual(
      first!.contests[0]!.rounds.flat().map((outcome) => [outcome.target, isMeasured(outcome)]),
      [
        ['elysia', true],
        ['nest', false],
        ['elysia', false],
        ['nest', false]
      ]
    )
    assert.deepEqual(describeConditions(first!).slice(0, 2), [
      'INCOMPLETE: 3 measurements of 4 missing',
      'missing: elysia, nest (2 times): the run ended before its turn'
    ])
    assert.match(renderComparison(first!), /^nest was not measured: the run ended before its turn$/m)
  })

  it('begins no measurement after its time, and reports which ones are missing', async () => {
    const bench = measuring()
    const { comparison } = await comparing({ ...planned(), within: -1 }, bench)
    assert.equal(bench.asked.length, 0)
    assert.match(describeConditions(comparison)[0]!, /^INCOMPLETE: 4 measurements of 4 missing$/)
    assert.ok(!isClean(comparison))
  })

  it('lists a peer that cannot be measured in its table, without paths of this machine', async () => {
    const measure = async (flags: BenchFlags) => {
      if (flags['target'] === 'nest') throw new BenchError(`${import.meta.dirname}/peers/x.ts: no such port`)
      return measurement({ target: flags['target'] as TargetName })
    }
    const { comparison } = await comparing(planned(), { measure })
    const table = renderComparison(comparison)
    assert.match(table, /^nest +– +–/m)
    assert.match(table, /^nest was not measured: examples\/bench\/(dist\/)?peers\/x\.ts: no such port$/m)
    assert.match(table, /^INCOMPLETE: 2 measurements of 4 missing$/m)
  })

  it('can have one target several times, with different settings', async () => {
    const entrants: Entrant[] = [
      { target: 'elysia' },
      { target: 'elysia', label: 'msgpack', codec: 'msgpack' },
      { target: 'elysia', label: 'old', protocol: 'nest' },
      { target: 'nest', label: 'node', runtime: 'node' }
    ]
    const plan = planned()
    const [part] = plan.parts
    const contests = part!.contests.map((contest) => ({ ...contest, entrants }))
    const bench = measuring(({ codec }) => ({ rps: codec === 'msgpack' ? 2000 : 1000 }))
    const { comparison } = await comparing({ ...plan, parts: [{ ...part!, runs: 1, contests }] }, bench)
    assert.deepEqual(namesOf(comparison), ['elysia', 'elysia @ msgpack', 'elysia @ old', 'nest @ node'])
    assert.deepEqual(
      bench.asked.map(({ protocol, codec, runtime }) => [protocol, codec, runtime]),
      [
        ['rsocket', 'json', 'bun'],
        ['rsocket', 'msgpack', 'bun'],
        ['nest', undefined, 'bun'],
        [undefined, undefined, 'node']
      ]
    )
    // Another entry of this project does not count as a rival.
    assert.deepEqual(comparison.contests[0]!.verdicts[0]!.runs, [null])
    assert.equal(comparison.contests[0]!.results[1]!.ratio?.rps?.median, 2)
  })

  it('spreads entries with fewer runs over all rounds, and reports the number of runs', async () => {
    const plan = planned()
    const [part] = plan.parts
    const entrants: Entrant[] = [{ target: 'elysia' }, { target: 'grpc', runs: 2, duration: 1.5 }]
    const contests = part!.contests.map((contest) => ({ ...contest, entrants }))
    const bench = measuring(({ duration }) => ({ duration: duration as number }))
    const { comparison, kept } = await comparing({ ...plan, parts: [{ ...part!, runs: 5, contests }] }, bench)
    assert.equal(describeConditions(kept[0]!)[0], 'INCOMPLETE: 6 measurements of 7 missing')
    assert.deepEqual(
      comparison.contests[0]!.rounds.map(([, grpc]) => isMeasured(grpc!)),
      [true, false, true, false, false]
    )
    assert.ok(isClean(comparison))
    const table = renderComparison(comparison)
    assert.match(table, /^elysia .* 5 × 6 s$/m)
    assert.match(table, /^grpc .* 2 × 1\.5 s$/m)
    assert.match(table, /^grpc was not measured in 3 runs: only 2 runs, of 1\.5 s, were planned$/m)
  })
})
