/** The plan of a comparison: parts, in each of which every contest is held as often as it has runs. */
import type { ComparisonOptions } from './options/comparison-options.ts'
import { obstacleTo } from './options/obstacles.ts'
import { customShape, shapes } from './payload/payload.ts'
import { type Choice, type ClientName, clients } from './peers/clients.ts'
import type { Codec, Method, Protocol } from './peers/echo-client.ts'
import { isOurs, LABEL, type TargetName, targets } from './peers/targets.ts'
import type { BenchFlags } from './process/bench-process.ts'
import type { Runtime } from './process/runtime.ts'
import { layoutOf, loadOf, settingOf } from './report/contest.ts'
import type { Comparison, Contest } from './report/schema.ts'
import type { Tool } from './suites/load/tool.ts'
import { flagsOfSuite, obstacleInSuite, suiteTaskOf } from './suites/plan.ts'

import { ECHO, flagsOfTask, type SuiteName, type Task, taskOf } from './task/task.ts'

/** A participant of a contest, and how it differs from the others there. */
export interface Entrant {
  /** A target of the bench, or of the suite that the contest is of. */
  readonly target: string
  /** Tells it from another entrant that is the same target. */
  readonly label?: string
  /** In how many of the rounds it takes part, and for how many seconds; absent: as its part says. */
  readonly runs?: number
  readonly duration?: number
  readonly warmup?: number
  readonly codec?: Codec
  readonly protocol?: Protocol
  /** Its runtime, if it is another than that of the others. */
  readonly runtime?: Runtime
  /** How it asks, if not as the others do. */
  readonly method?: Method
  /** In a suite: of how many processes it is. */
  readonly workers?: number
}

export interface PlannedContest {
  readonly contest: Contest
  readonly entrants: readonly Entrant[]
}

export interface Part {
  readonly contests: readonly PlannedContest[]
  readonly runs: number
  readonly duration: number
  readonly warmup: number
}

export interface Plan {
  readonly parts: readonly Part[]
  /** The settings that the report shows. */
  readonly options: Comparison['options']
  readonly load: Pick<ComparisonOptions, 'rate' | 'sloMs' | 'processes' | 'custom'>
  /** Seconds that a measurement may take beyond what it should. */
  readonly patience: number
  /** Seconds after which nothing more is begun; `null`: it takes as long as it takes. */
  readonly within: number | null
  /** Of a suite: what its measurements share. */
  readonly suite?: {
    readonly name: SuiteName
    readonly tool: Tool | undefined
    /** Address of the database. */
    readonly database: string | undefined
  }
}

export const nameOfEntrant = ({ target, label }: Entrant): string =>
  label === undefined ? target : `${target}${LABEL}${label}`

/** One part, of all combinations. */
export function planOf(options: ComparisonOptions): Plan {
  const { runs, duration, warmup, method, protocol, codec, processes } = options
  const entrants = options.targets.map((target): Entrant => ({ target }))
  const contests = contestsOf(options).map((contest) => ({ contest, entrants }))
  return {
    parts: [{ contests, runs, duration, warmup }],
    options: { targets: options.targets, runs, duration, warmup, processes, method, protocol, codec },
    load: options,
    patience: options.patience,
    within: options.within
  }
}

export type Combined = Pick<
  ComparisonOptions,
  | 'runtimes'
  | 'clients'
  | 'payloads'
  | 'layouts'
  | 'concurrency'
  | 'processes'
  | 'custom'
  | 'rate'
  | 'sloMs'
  | 'task'
>

/** All combinations; with one request at a time both layouts are the same. */
export function contestsOf(options: Combined): Contest[] {
  const { runtimes, clients: asking, payloads, concurrency, layouts } = options
  return runtimes.flatMap((runtime) =>
    asking.flatMap((client) =>
      payloads.flatMap(({ shape, payload }) =>
        layouts.flatMap((layout) =>
          concurrency
            .filter((callers) => callers > 1 || layouts.indexOf(layout) === 0)
            .map((callers) => ({
              client,
              ...(options.task !== ECHO && { task: options.task }),
              layout,
              // Load processes cannot share a connection: each has its own.
              connections: layout === 'shared' ? options.processes : callers,
              concurrency: callers,
              pattern: options.custom?.pattern ?? null,
              shape,
              payload,
              runtime,
              // Where to begin looking is no part of what is compared.
              rate: options.sloMs === null ? options.rate : null,
              sloMs: options.sloMs
            }))
        )
      )
    )
  )
}

export interface Job {
  readonly part: Part
  readonly contest: Contest
  readonly entrant: Entrant
  /** Which of all contests, and the place of the entrant in it. */
  readonly index: number
  readonly place: number
  readonly run: number
}

/** All measurements, in the order in which they are made: run by run, contest by contest, the entrants take turns. */
export function jobsOf({ parts }: Plan): Job[] {
  let first = 0
  return parts.flatMap((part) => {
    const before = first
    first += part.contests.length
    return range(part.runs).flatMap((run) =>
      part.contests.flatMap(({ contest, entrants }, at) =>
        entrants.map((entrant, place): Job => ({ part, contest, entrant, index: before + at, place, run }))
      )
    )
  })
}

export const range = (length: number): number[] => Array.from({ length }, (_, index) => index)

/** Why a job is not meant to be done: no failure of anybody. */
export function obstacleOf(job: Job): string | undefined {
  const { part, entrant, run } = job
  const suite = suiteTaskOf(job)
  const obstacle = suite === undefined ? obstacleOfPeer(job) : obstacleInSuite(suite, entrant)
  if (obstacle !== undefined) return obstacle
  const runs = entrant.runs ?? part.runs
  // Spread over all rounds, so that noise hits it as it hits the others.
  const turns = range(runs).map((turn) => Math.floor((turn * part.runs) / runs))
  return turns.includes(run)
    ? undefined
    : `only ${runs} runs, of ${secondsOf({ part, entrant }).duration} s, were planned`
}

function obstacleOfPeer({ entrant, contest }: Job): string | undefined {
  const client = clientOf(entrant, contest)
  return obstacleTo(entrant.target as TargetName, client, contest.connections, taskOf(contest))
}

/** Seconds that it is to measure, and to warm up before. */
export const secondsOf = ({ part, entrant }: Pick<Job, 'part' | 'entrant'>) => ({
  duration: entrant.duration ?? part.duration,
  warmup: entrant.warmup ?? part.warmup
})

function clientOf({ target }: Entrant, { client }: Contest): ClientName {
  return client === 'own' ? targets[target as TargetName].client : client
}

/** The name of a job, without the parts that all of them share. */
export function nameOfJob({ entrant, contest }: Job, { parts }: Plan): string {
  const all = parts.flatMap(({ contests }) => contests.map((planned) => planned.contest))
  const differ = (of: (contest: Contest) => unknown) => new Set(all.map(of)).size > 1
  return [
    nameOfEntrant(entrant),
    ...(suiteTaskOf({ contest }) === undefined ? [layoutOf(contest)] : []),
    ...(contest.client === 'own' ? [] : [`${contest.client} client`]),
    ...(differ(({ concurrency }) => concurrency) ? [loadOf(contest)] : []),
    ...(differ(settingOf) ? [settingOf(contest)] : [])
  ].join(', ')
}

export function flagsOf(job: Job, plan: Plan): BenchFlags {
  const suite = suiteTaskOf(job)
  if (suite !== undefined) return flagsOfSuite(job, suite, plan)
  const { options, load } = plan
  const { entrant, contest } = job
  const { target } = entrant
  const { connections, concurrency, shape, payload } = contest
  const client = clientOf(entrant, contest)
  const { choices } = clients[client]
  const ours = client === 'elysia' && isOurs(target)
  const protocol = entrant.protocol ?? options.protocol
  const task = taskOf(contest)
  const { mode } = task
  return {
    target,
    client,
    ...(mode !== 'start' && mode !== 'durable' && { connections }),
    ...countOf(task, concurrency),
    ...secondsOf(job),
    ...flagsOfTask(askedOf(task, choices)),
    ...(shape !== customShape && mode !== 'stream' && { shape }),
    ...(options.processes > 1 && { processes: options.processes }),
    // The report has all of it.
    histogram: true,
    ...(load.rate !== null && { rate: load.rate }),
    ...(load.sloMs !== null && { 'find-capacity': true, slo: load.sloMs }),
    ...(shape !== customShape && shapes[shape].defaultBytes !== undefined && { payload }),
    runtime: entrant.runtime ?? contest.runtime,
    ...(choices.includes('method') && mode === 'request' && { method: entrant.method ?? options.method }),
    ...(ours && { protocol }),
    ...(ours && protocol === 'rsocket' && { codec: entrant.codec ?? options.codec }),
    // Always a server of our own, whatever else runs on this machine.
    port: 0,
    ...load.custom?.flags
  }
}

/** How much is asked at a time, as the mode has it. */
function countOf({ mode }: Task, concurrency: number): Readonly<Record<string, number>> {
  if (mode === 'stream') return { streams: concurrency }
  return mode === 'start' ? {} : { concurrency }
}

/** The task of a client that has no choice in how it reads. */
const askedOf = (task: Task, choices: readonly Choice[]): Task =>
  task.mode === 'stream' && !choices.includes('take') ? { ...task, take: null } : task

/** Seconds that no measurement takes that is not stuck. A search for a rate has many trials. */
export function limitOf(job: Job, { load, patience }: Plan): number {
  const { duration, warmup } = secondsOf(job)
  const once = warmup + duration
  return patience + (load.sloMs === null ? once : 60 * (once + 10))
}
