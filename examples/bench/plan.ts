/** The plan of a comparison: parts with contests, each of which has several runs. */
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

/** A participant of a contest, with the settings in which it differs from the others. */
export interface Entrant {
  /** A target of the bench, or of a suite. */
  readonly target: string
  /** Distinguishes it from another entrant with the same target. */
  readonly label?: string
  /** The number of rounds in which it takes part, and its measured seconds; `undefined`: those of its part. */
  readonly runs?: number
  readonly duration?: number
  readonly warmup?: number
  readonly codec?: Codec
  readonly protocol?: Protocol
  /** Its runtime, if it differs from that of the others. */
  readonly runtime?: Runtime
  /** How its client makes requests, if it differs from the others. */
  readonly method?: Method
  /** In a suite: the number of its processes. */
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
  /** Seconds beyond its expected end after which a measurement is given up. */
  readonly patience: number
  /** Seconds after which no measurement is begun; `null`: no limit. */
  readonly within: number | null
  /** The common settings of a suite's measurements. */
  readonly suite?: {
    readonly name: SuiteName
    readonly tool: Tool | undefined
    /** The address of the database. */
    readonly database: string | undefined
  }
}

export const nameOfEntrant = ({ target, label }: Entrant): string =>
  label === undefined ? target : `${target}${LABEL}${label}`

/** A plan with one part that has all combinations of the options. */
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

/** All combinations of the options. With one request at a time, both layouts are the same. */
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
              // The first rate of the search is not part of the comparison.
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
  /** The number of the contest, and the position of the entrant in it. */
  readonly index: number
  readonly place: number
  readonly run: number
}

/** All measurements in their order: run by run, contest by contest, and the entrants take turns. */
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

/** Why a job cannot be done by its nature, which is no failure. */
export function obstacleOf(job: Job): string | undefined {
  const { part, entrant, run } = job
  const suite = suiteTaskOf(job)
  const obstacle = suite === undefined ? obstacleOfPeer(job) : obstacleInSuite(suite, entrant)
  if (obstacle !== undefined) return obstacle
  const runs = entrant.runs ?? part.runs
  // Spread over all rounds, so that noise affects this entrant as it affects the others.
  const turns = range(runs).map((turn) => Math.floor((turn * part.runs) / runs))
  return turns.includes(run)
    ? undefined
    : `only ${runs} runs, of ${secondsOf({ part, entrant }).duration} s, were planned`
}

function obstacleOfPeer({ entrant, contest }: Job): string | undefined {
  const client = clientOf(entrant, contest)
  return obstacleTo(entrant.target as TargetName, client, contest.connections, taskOf(contest))
}

/** The seconds of measuring, and the seconds of warm-up before. */
export const secondsOf = ({ part, entrant }: Pick<Job, 'part' | 'entrant'>) => ({
  duration: entrant.duration ?? part.duration,
  warmup: entrant.warmup ?? part.warmup
})

function clientOf({ target }: Entrant, { client }: Contest): ClientName {
  return client === 'own' ? targets[target as TargetName].client : client
}

/** The name of a job, without the parts that all jobs share. */
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
    // The report needs the whole histogram.
    histogram: true,
    ...(load.rate !== null && { rate: load.rate }),
    ...(load.sloMs !== null && { 'find-capacity': true, slo: load.sloMs }),
    ...(shape !== customShape && shapes[shape].defaultBytes !== undefined && { payload }),
    runtime: entrant.runtime ?? contest.runtime,
    ...(choices.includes('method') && mode === 'request' && { method: entrant.method ?? options.method }),
    ...(ours && { protocol }),
    ...(ours && protocol === 'rsocket' && { codec: entrant.codec ?? options.codec }),
    // Always a new server, whatever else runs on this machine.
    port: 0,
    ...load.custom?.flags
  }
}

/** The flag for the number of requests at a time, which depends on the mode. */
function countOf({ mode }: Task, concurrency: number): Readonly<Record<string, number>> {
  if (mode === 'stream') return { streams: concurrency }
  return mode === 'start' ? {} : { concurrency }
}

/** The task for a client that has only one way to read a stream. */
const askedOf = (task: Task, choices: readonly Choice[]): Task =>
  task.mode === 'stream' && !choices.includes('take') ? { ...task, take: null } : task

/** Seconds after which a measurement must be hanging. A search for a rate has many trials. */
export function limitOf(job: Job, { load, patience }: Plan): number {
  const { duration, warmup } = secondsOf(job)
  const once = warmup + duration
  return patience + (load.sloMs === null ? once : 60 * (once + 10))
}
