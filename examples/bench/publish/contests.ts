/** The contests of the published report that the documentation uses. */
import { describeTask } from '../report/contest.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { taskOf } from '../task/task.ts'

export type Is = (contest: ContestResult) => boolean

/** Whether a contest is the plain echo: answered at once, each server called by its own client. */
const isEcho: Is = (contest) => contest.scope === undefined && describeTask(taskOf(contest)) === ''
export const isText: Is = (contest) =>
  isEcho(contest) && contest.shape === 'flat' && contest.concurrency === 100
export const isObject: Is = (contest) => isEcho(contest) && contest.shape === 'object'
export const isWaiting: Is = ({ task }) => task?.mode === 'request' && task.handler === 'waits'
export const isLongStream: Is = ({ task, concurrency, scope }) =>
  scope === undefined &&
  task?.mode === 'stream' &&
  task.generator === 'sync' &&
  task.take === 'iterate' &&
  task.pause === 0 &&
  concurrency === 1
export const isManyStreams: Is = ({ task, concurrency, scope }) =>
  scope === undefined && task?.mode === 'stream' && task.values === 10 && concurrency === 100
export const isSlowReader: Is = ({ task }) => task?.mode === 'stream' && task.pause > 0

interface Wanted {
  readonly is: Is
  readonly layout: ContestResult['layout']
  readonly runtime?: ContestResult['runtime']
}

/** The contest in which each target is called by its own client; on Bun by default. */
export const find = (
  { contests }: Comparison,
  { is, layout, runtime = 'bun' }: Wanted
): ContestResult | undefined =>
  contests.find(
    (contest) =>
      contest.client === 'own' && contest.layout === layout && contest.runtime === runtime && is(contest)
  )

/** @throws Error if the target is not in the contest */
export function resultOf({ results }: ContestResult, name: string): TargetResult {
  const result = results.find(({ target }) => target === name)
  if (result === undefined) throw new Error(`${name} is not in any contest of the report`)
  return result
}
