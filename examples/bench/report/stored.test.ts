import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Value } from '@sinclair/typebox/value'
import { BENCH_FOLDER } from '../process/folder.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import type { Round } from './comparison.ts'
import { comparisonSchema } from './schema.ts'
import { combine, readStored, type Stored } from './stored.ts'

const rounds = (...rps: number[]): Round[] =>
  rps.map((one) => [measurement({ rps: one }), measurement({ target: 'nest', rps: one / 2 })])
const stored = (label: string, ...rps: number[]): Stored => ({
  label,
  comparison: comparison([
    [{}, rounds(...rps)],
    [{ concurrency: rps.length }, rounds(...rps)]
  ])
})

describe('a stored report', () => {
  it('is read as it was written', () => {
    const written = comparison([
      [{}, [...rounds(1, 2), [measurement({}), { target: 'nest', notMeasured: 'why', failed: true }]]]
    ])
    const read = readStored('folder/before.json', JSON.stringify(written))
    assert.deepEqual(read, { label: 'before', comparison: written })
  })

  it('may have fields of later versions', () => {
    const later = { ...comparison([]), weather: 'rain' }
    assert.ok(Value.Check(comparisonSchema, readStored('a.json', JSON.stringify(later)).comparison))
  })

  const rejected: [what: string, text: string, message: RegExp][] = [
    ['no JSON', '{', /a\.json is not JSON\.$/],
    ['something else', '{"contests":[]}', /a\.json is not a report of this benchmark\.$/],
    ['nothing', 'null', /is not a report of this benchmark/],
    [
      'another version',
      JSON.stringify({ ...comparison([]), version: 1 }),
      /has version 1 of the report, but only version 2 can be read\.$/
    ],
    [
      'a broken field',
      JSON.stringify({ ...comparison([]), contests: [{ rounds: 1 }] }),
      /is not a report of version 2: \/contests\/0\/\w+ /
    ]
  ]
  for (const [what, text, message] of rejected) {
    it(`is refused if it is ${what}`, () => {
      assert.throws(() => readStored('a.json', text), message)
    })
  }

  it('is described by the schema in docs', async () => {
    const file = join(BENCH_FOLDER, '..', '..', 'docs', 'benchmarks', 'report.schema.json')
    assert.deepEqual(
      JSON.parse(await readFile(file, 'utf8')),
      JSON.parse(JSON.stringify(comparisonSchema)),
      'write it again: bun report/print-schema.ts > ../../docs/benchmarks/report.schema.json'
    )
  })
})

describe('stored reports', () => {
  it('alone are unchanged', () => {
    const one = stored('a', 1, 2)
    assert.equal(combine([one], 'again'), one.comparison)
  })

  it('together have every target of each as a series, divided by the same target of the first report', () => {
    const { contests, base, sources, command } = combine(
      [stored('a', 100, 110), stored('b', 200, 198)],
      'now'
    )
    assert.deepEqual([base, command, sources.map(({ label }) => label)], ['nest @ a', 'now', ['a', 'b']])
    const [contest] = contests
    assert.deepEqual(
      contest!.results.map(({ target, ratioTo, ratio }) => [target, ratioTo, ratio?.rps]),
      [
        ['elysia @ a', null, undefined],
        ['nest @ a', null, undefined],
        ['elysia @ b', 'elysia @ a', { median: 199 / 105, min: 198 / 110, max: 2 }],
        ['nest @ b', 'nest @ a', { median: 99.5 / 52.5, min: 99 / 55, max: 2 }]
      ]
    )
    assert.equal(contest!.verdicts[0]?.winner, 'elysia @ b')
    assert.equal(contest!.rounds[1]!.length, 4)
  })

  it('together have only the contests that are in all, with any numbers of runs', () => {
    const { contests } = combine([stored('a', 1, 2), stored('b', 1, 2, 3)], '')
    assert.equal(contests.length, 1)
    assert.deepEqual(contests[0]!.rounds[2]![0], {
      target: 'elysia @ a',
      notMeasured: 'it had fewer runs',
      failed: false
    })
  })

  it('of the same name get numbers', () => {
    const { sources } = combine([stored('a', 1, 2), stored('a', 1, 2)], '')
    assert.deepEqual(
      sources.map(({ label }) => label),
      ['a', 'a 2']
    )
  })

  it('without a common contest are refused', () => {
    const other = { label: 'b', comparison: comparison([[{ shape: 'list' }, rounds(1)]]) }
    assert.throws(() => combine([stored('a', 1), other], ''), /no contest in common/)
  })
})
