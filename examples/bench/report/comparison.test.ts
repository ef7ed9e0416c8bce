import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONTEST, comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { isClean, isComplete, type Outcome, type Round, summarize } from './comparison.ts'
import { baseOf } from './roles.ts'
import { remarksOn } from './rows.ts'
import { describeSeconds } from './schedule.ts'
import type { Comparison, Contest, Measurement, NotMeasured } from './schema.ts'
import { spread } from './statistics.ts'
import { renderComparison } from './table.ts'

const pair = (elysia: Partial<Measurement>, nest: Partial<Measurement> = {}): Round => [
  measurement(elysia),
  measurement({ target: 'nest', ...nest })
]

const missing = (target: NotMeasured['target'], failed: boolean): Outcome => ({
  target,
  notMeasured: 'no such thing',
  failed
})

describe('a spread', () => {
  for (const [values, expected] of [
    [[3, 1, 2], { median: 2, min: 1, max: 3 }],
    [[4, 1, 2, 10], { median: 3, min: 1, max: 10 }],
    [[5], { median: 5, min: 5, max: 5 }],
    [[], null]
  ] as const) {
    it(`of [${values}] is ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(spread(values), expected)
    })
  }
})

describe('a comparison', () => {
  const summarizeResults = (...rounds: Round[]) => summarize(CONTEST, rounds).results

  it('calculates ratios within each round, not between medians', () => {
    const [elysia, nest] = summarizeResults(
      pair({ rps: 200 }, { rps: 100 }),
      pair({ rps: 900 }, { rps: 300 }),
      pair({ rps: 400 }, { rps: 400 })
    )
    assert.equal(elysia?.figures.rps?.median, 400)
    assert.equal(nest?.figures.rps?.median, 300)
    assert.deepEqual(elysia?.ratio?.rps, { median: 2, min: 1, max: 3 })
    assert.equal(nest?.ratio, null)
  })

  it('compares with Nest at any position, and with the first target without Nest', () => {
    assert.equal(baseOf(['elysia', 'nest']), 'nest')
    assert.equal(baseOf(['nest', 'elysia']), 'nest')
    assert.equal(baseOf(['elysia']), 'elysia')
  })

  it('leaves out unknown values', () => {
    const [elysia] = summarizeResults(pair({ p50: null, serverCpuUsPerRequest: null }))
    assert.equal(elysia?.figures.p50, null)
    assert.equal(elysia?.ratio?.p50, null)
    assert.equal(elysia?.ratio?.serverCpuUsPerRequest, null)
  })

  it('names the figures in which the base is ahead, for figures where higher or lower is better', () => {
    const [elysia, nest] = summarizeResults(pair({ rps: 999, p50: 0.5, p99: 3.1 }))
    assert.deepEqual(elysia?.baseAhead, ['rps', 'p99'])
    assert.deepEqual(nest?.baseAhead, [])
  })

  it('counts all others as rivals, but not this project with another codec', () => {
    const round = (rps: number): Round => [
      measurement({ rps: 100 }),
      measurement({ target: 'elysia @ msgpack', rps }),
      measurement({ target: 'nest', rps: 50 }),
      measurement({ target: 'nest @ node', rps: 60 }),
      measurement({ target: 'raw', rps: 999 })
    ]
    const [decisive] = summarize(CONTEST, [round(90), round(110)]).verdicts
    assert.equal(decisive?.winner, 'elysia')
    assert.match(decisive.reason, /better than the best of anybody else, 60 of nest @ node/)
  })

  it('names the figures in which other targets are ahead of this project', () => {
    const round: Round = [
      measurement({}),
      measurement({ target: 'nest' }),
      measurement({ target: 'grpc', rps: 2000, rssIdle: 1 }),
      measurement({ target: 'trpc', rps: 10 })
    ]
    const remarks = remarksOn(summarize(CONTEST, [round]))
    assert.ok(remarks.includes('grpc is ahead of elysia in req/s, idle MiB.'))
    assert.deepEqual(
      remarks.filter((remark) => remark.includes('is ahead of')),
      ['nest is ahead of elysia in nothing.', 'grpc is ahead of elysia in req/s, idle MiB.']
    )
  })

  it('at a fixed rate does not compare the number of answers', () => {
    const contest = { ...CONTEST, rate: 1000 }
    const remarks = remarksOn(summarize(contest, [pair({ rps: 999 }, { rps: 1000 })]))
    assert.ok(remarks.includes('nest is ahead of elysia in nothing.'))
  })

  it('adds up errors', () => {
    const results = summarizeResults(pair({ errors: 2 }), pair({ errors: 1 }, { errors: 4 }))
    assert.deepEqual(
      results.map(({ errors }) => errors),
      [3, 4]
    )
  })

  it('lists the runs that were not measured', () => {
    const [nest] = pair({}, { rps: 100 }).slice(1)
    const [elysia] = summarizeResults([missing('elysia', true), nest!], pair({ rps: 200 }, { rps: 100 }))
    assert.deepEqual(
      { ...elysia, figures: elysia?.figures.rps, ratio: elysia?.ratio?.rps, baseAhead: [] },
      {
        target: 'elysia',
        figures: { median: 200, min: 200, max: 200 },
        ratioTo: 'nest',
        ratio: { median: 2, min: 2, max: 2 },
        baseAhead: [],
        runs: 1,
        seconds: 1,
        client: 'elysia',
        errors: 0,
        firstError: null,
        told: null,
        notMeasured: 1,
        missing: 1,
        reason: 'no such thing'
      }
    )
  })

  for (const [what, round, clean, complete] of [
    ['measurements without errors', pair({}), true, true],
    ['errors', pair({}, { errors: 1 }), false, true],
    ['a failed measurement', [measurement({}), missing('nest', true)], false, false],
    ['what a peer cannot do', [measurement({}), missing('nest', false)], true, true]
  ] as const) {
    it(`with ${what} is ${clean ? 'clean' : 'not clean'} and ${complete ? 'complete' : 'not complete'}`, () => {
      const contests = [summarize(CONTEST, [round])]
      assert.equal(isClean({ contests }), clean)
      assert.equal(isComplete({ contests }), complete)
    })
  }
})

describe('the table', () => {
  const render = (contest: Partial<Contest>, rounds: Round[], options: Partial<Comparison['options']> = {}) =>
    renderComparison(comparison([[contest, rounds]], options))

  it('shows each target, the ratio, and the machine', () => {
    const table = render({}, [pair({ rps: 12_345.6, serverRssMb: null }, { rps: 5000 })])
    assert.match(table, /a CPU, 2 CPUs · a kernel · Bun 1\.0\.0 · server on CPU 0, client on CPU 1/)
    assert.match(table, /elysia's own client speaks rsocket, data as json$/m)
    assert.match(
      table,
      /connection per client · 10 requests at a time · each with its own client · a string, 200 B · bun$/m
    )
    assert.match(
      table,
      /^elysia +12,346 +1\.000 +2\.000 +3\.000 +4\.000 +10\.00 +10\.00 +– +40\.0 +60\.0 +45\.0 +0 +1 × 1 s$/m
    )
    assert.match(table, /^elysia ÷ nest +2\.47x +1\.00x/m)
    assert.match(table, /nest is ahead of elysia in nothing\./)
  })

  it('names the figures in which the base is ahead', () => {
    const table = render({ layout: 'shared', connections: 1 }, [pair({ rps: 10, max: 9 })])
    assert.match(table, /shared connection · /)
    assert.match(table, /nest is ahead of elysia in req\/s, max ms\./)
  })

  it('names what was not measured, with the reason', () => {
    const always = render({}, [[missing('elysia', false), measurement({ target: 'nest' })]])
    assert.match(always, /^elysia +– +–/m)
    assert.match(always, /^elysia was not measured: no such thing$/m)
    assert.doesNotMatch(always, /÷/)
    const once = render({}, [pair({}), [missing('elysia', true), measurement({ target: 'nest' })]])
    assert.match(once, /^elysia was not measured in 1 run: no such thing$/m)
    assert.match(once, /^elysia ÷ nest +1\.00x/m)
  })

  it('describes the payload and the task', () => {
    const contest = { shape: 'object', payload: 1024 } as const
    const table = render(contest, [pair({})], { codec: 'msgpack', method: 'send' })
    assert.match(table, /an order, 1,024 B as JSON · bun$/m)
    assert.match(table, /data as msgpack; elysia and nest ask by firstValueFrom\(client\.send\(\)\)$/m)
  })

  it('aligns its columns', () => {
    const lines = render({}, [pair({ rps: 1_234_567 })]).split('\n')
    const ends = lines.filter((line) => /^(elysia|nest) +\d/.test(line)).map((line) => line.length)
    assert.equal(new Set(ends).size, 1)
  })
})

describe('the time that is left', () => {
  for (const [seconds, text] of [
    [5, '5 s'],
    [60, '1 min 0 s'],
    [95, '1 min 35 s']
  ] as const) {
    it(`of ${seconds} seconds is '${text}'`, () => {
      assert.equal(describeSeconds(seconds), text)
    })
  }
})
