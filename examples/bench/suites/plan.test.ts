import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fullPlan } from '../full-plan.ts'
import { flagsOf, jobsOf, nameOfEntrant, obstacleOf, type Plan, secondsOf } from '../plan.ts'
import { REPORTS, reportNames } from '../publish/reports.ts'
import { keyOf, titleOf } from '../report/contest.ts'
import { type SuiteName, suiteNames } from '../task/task.ts'
import { suites } from './catalog.ts'
import { isSuite, readSuiteComparison, readSuiteOptions } from './options.ts'
import { suitePlan } from './plan.ts'

/** Seconds that a measurement takes besides warm-up and measuring, measured: starting, checking, collecting garbage. */
const OVERHEAD = 2.6

function planOf(suite: SuiteName, ...flags: string[]): Plan {
  const options = readSuiteComparison([`--suite=${suite}`, ...flags])
  assert.ok(options !== 'help')
  return suitePlan(options)
}

/** Seconds that all measurements of a plan take. */
function secondsIn(plan: Plan): number {
  const jobs = jobsOf(plan).filter(
    ({ entrant }) => suites[plan.suite!.name].targets[entrant.target]!.absent === undefined
  )
  return jobs.map(secondsOf).reduce((sum, { duration, warmup }) => sum + duration + warmup + OVERHEAD, 0)
}

const namesIn = (plan: Plan, contest: number): string[] =>
  plan.parts.flatMap(({ contests }) => contests)[contest]!.entrants.map(nameOfEntrant)

describe('everything that is published', () => {
  it('ends within 56 minutes, each part within its own time', () => {
    const all = reportNames.map((name) => {
      const argv = [...REPORTS[name].flags, ...REPORTS[name].brief]
      const options = isSuite(argv) ? readSuiteComparison(argv) : undefined
      assert.ok(options !== 'help')
      if (options === undefined) {
        return fullPlan({ times: {}, runtimes: undefined, patience: undefined, within: undefined }).within!
      }
      assert.ok(options.full)
      const plan = suitePlan(options)
      assert.ok(secondsIn(plan) < plan.within!, `${name}: ${secondsIn(plan)} s of ${plan.within}`)
      return plan.within!
    })
    const minutes = all.reduce((sum, seconds) => sum + seconds, 0) / 60
    assert.ok(minutes <= 56, `${minutes}`)
  })
})

describe('the plan of a suite', () => {
  for (const suite of suiteNames) {
    // Without Fiber, which is only built when it is measured.
    const others = Object.keys(suites[suite].targets).filter((name) => name !== 'fiber')

    it(`${suite}: ends within 22 minutes`, () => {
      const plan = planOf(suite)
      const seconds = secondsIn(plan)
      assert.ok(
        seconds < plan.within! && plan.within! + plan.patience < 22 * 60,
        `${Math.round(seconds / 60)} minutes`
      )
    })

    it(`${suite}: has no contest twice, no entry twice in a contest, and only accepted flags`, () => {
      const plan = planOf(suite, `--targets=${others.join(',')}`)
      const contests = plan.parts.flatMap((part) => part.contests)
      assert.equal(new Set(contests.map(({ contest }) => keyOf(contest))).size, contests.length)
      for (const { contest, entrants } of contests) {
        assert.equal(new Set(entrants.map(nameOfEntrant)).size, entrants.length)
        assert.match(titleOf(contest), / · [\d,]+ requests? at a time$/)
      }
      for (const job of jobsOf(plan).filter((one) => obstacleOf(one) === undefined)) {
        const flags = Object.entries(flagsOf(job, plan)).map(([name, value]) =>
          value === true ? `--${name}` : `--${name}=${value}`
        )
        assert.notEqual(readSuiteOptions(flags), 'help')
      }
    })
  }

  it('of HTTP has every target on each of its runtimes, and targets whose figures are divided side by side', () => {
    const names = namesIn(planOf('http'), 0)
    for (const name of ['hono', 'hono @ node', 'node', 'fiber', 'elit', 'velocity'])
      assert.ok(names.includes(name), name)
    assert.ok(!names.includes('wynkjs @ node'))
    for (const suffix of ['', ' @ node']) {
      assert.equal(names.indexOf(`elysia-service${suffix}`), names.indexOf(`elysia${suffix}`) + 1)
      assert.equal(names.indexOf(`nest-gateway${suffix}`), names.indexOf(`elysia-gateway${suffix}`) + 1)
    }
  })

  it('names once what cannot be installed', () => {
    const plan = planOf('http', '--targets=bun,elit')
    assert.deepEqual([namesIn(plan, 0), namesIn(plan, 1)], [['bun', 'elit'], ['bun']])
    const [, elit] = jobsOf(plan)
    assert.match(obstacleOf(elit!)!, /404/)
  })

  it('can be limited to one runtime', () => {
    const names = namesIn(planOf('http', '--runtimes=node', '--targets=bun,node,hono'), 0)
    assert.deepEqual(names, ['node', 'hono @ node'])
  })

  it('of the database measures many callers for longer, unless a time is given', () => {
    const longest = (plan: Plan) => Math.max(...jobsOf(plan).map((job) => secondsOf(job).duration))
    assert.deepEqual([longest(planOf('db')), longest(planOf('db', '--duration=0.3'))], [4, 0.3])
  })

  it('of several processes begins with one', () => {
    const [first, ...others] = namesIn(planOf('scale'), 0)
    assert.equal(first, 'service @ 1 worker')
    for (const name of others) assert.match(name, /^service @ \d+ workers$/)
  })
})
