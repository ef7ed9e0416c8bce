import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fullPlan, OVER_RABBITMQ } from './full-plan.ts'
import { readBenchOptions } from './options/bench-options.ts'
import { FULL_PARTS } from './options/full-options.ts'
import { ownTargets, storingTargets } from './peers/targets.ts'
import { flagsOf, jobsOf, nameOfEntrant, obstacleOf, secondsOf } from './plan.ts'
import { keyOf } from './report/contest.ts'
import type { Contest } from './report/schema.ts'
import { isOfBacklog } from './task/task.ts'

/**
 * Seconds that a measurement takes besides warm-up and measuring: starting, connecting, collecting garbage, filling a
 * store.
 */
const OVERHEAD = 1.2
const FILLING = 4
/** The same for a server of RabbitMQ, which is started for each measurement. */
const RABBITMQ = 7

const hasBacklog = ({ task }: Contest): boolean => isOfBacklog(task)

/** Targets of Elysia itself, and variants of this project's. */
const NO_PEERS = ['elysia-hooks', 'elysia-10000', 'http', 'http-hybrid']

/** Left out of the plan: each start of a Kafka server takes ten seconds, so these targets are measured separately. */
const OVER_KAFKA = ['elysia-kafka', 'nest-kafka', 'kafka']

/** Left out of the plan: a command of their own compares events in a database. */
const IN_A_DATABASE = ['elysia-postgres', 'elysia-sqlite', 'pg-boss', 'graphile-worker', 'bullmq']

describe('the plan of the published report', () => {
  const plan = fullPlan({
    times: {},
    runtimes: undefined,
    parts: undefined,
    patience: undefined,
    within: undefined
  })
  const jobs = jobsOf(plan).filter((job) => obstacleOf(job) === undefined)

  it('can be measured in parts', () => {
    for (const title of Object.values(FULL_PARTS)) {
      const { parts } = fullPlan({
        times: {},
        runtimes: undefined,
        parts: [title],
        patience: undefined,
        within: undefined
      })
      const measured = parts.flatMap(({ contests }) => contests.map(({ contest }) => contest))
      assert.deepEqual([...new Set(measured.map((contest) => contest.part))], [title])
      assert.equal(new Set(measured.map(({ scope }) => scope)).size, 1)
      const there = plan.parts.find(({ contests }) => contests[0]?.contest.part === title)
      assert.equal(parts[0]?.contests.length, there?.contests.length)
    }
  })

  it('takes at most 39 of the 56 minutes for all reports, and begins nothing shortly before its end', () => {
    const seconds = jobs
      .map((job) => ({
        ...secondsOf(job),
        isStored: hasBacklog(job.contest),
        isRabbitmq: job.contest.scope === OVER_RABBITMQ
      }))
      .reduce(
        (sum, { duration, warmup, isStored, isRabbitmq }) =>
          sum + duration + warmup + OVERHEAD + (isStored ? FILLING : 0) + (isRabbitmq ? RABBITMQ : 0),
        0
      )
    assert.ok(seconds < plan.within!, `${Math.round(seconds)} s`)
    assert.ok(plan.within! + plan.patience < 39 * 60)
  })

  it('measures ours and Nest at least 5 times 5 seconds under both runtimes, in both shapes', () => {
    for (const runtime of ['bun', 'node'] as const) {
      for (const layout of ['shared', 'per-client'] as const) {
        for (const name of ['elysia', 'nest']) {
          const turns = jobs.filter(
            ({ contest, entrant }) =>
              contest.runtime === runtime &&
              contest.layout === layout &&
              contest.concurrency === 100 &&
              contest.scope === undefined &&
              contest.shape === 'flat' &&
              contest.task === undefined &&
              contest.client === 'own' &&
              nameOfEntrant(entrant) === name
          )
          assert.equal(turns.length, 5)
          for (const turn of turns) assert.ok(secondsOf(turn).duration >= 5)
        }
      }
    }
  })

  it('has every peer in it, under both runtimes', () => {
    for (const runtime of ['bun', 'node']) {
      const names = jobs
        .filter(({ contest }) => contest.runtime === runtime)
        .map(({ entrant }) => entrant.target)
      const expected = [...ownTargets, ...storingTargets].filter(
        (name) =>
          ![...NO_PEERS, ...OVER_KAFKA, ...IN_A_DATABASE].includes(name) &&
          (runtime === 'bun' || !['raw', 'outbox'].includes(name))
      )
      assert.deepEqual([...new Set(names)].toSorted(), expected.toSorted())
    }
  })

  it('has no contest twice, and no entry twice in a contest', () => {
    const contests = plan.parts.flatMap((part) => part.contests)
    assert.equal(new Set(contests.map(({ contest }) => keyOf(contest))).size, contests.length)
    for (const { entrants } of contests) {
      assert.equal(new Set(entrants.map(nameOfEntrant)).size, entrants.length)
    }
  })

  it('has only flags that a measurement accepts', () => {
    for (const job of jobs) {
      const flags = Object.entries(flagsOf(job, plan)).map(([name, value]) =>
        value === true ? `--${name}` : `--${name}=${value}`
      )
      assert.notEqual(readBenchOptions(flags), 'help')
    }
  })

  it('can be shortened, and limited to one runtime', () => {
    const short = fullPlan({ times: { duration: 0.1, runs: 1 }, runtimes: ['node'], patience: 1, within: 60 })
    const all = jobsOf(short)
    assert.ok(all.every((job) => job.contest.runtime === 'node' && secondsOf(job).duration === 0.1))
    assert.ok(all.every(({ run }) => run === 0))
    assert.deepEqual([short.patience, short.within], [1, 60])
  })
})
