/** A contest: the same load on several servers, which are compared; with the functions that name a contest. */
import { shapes } from '../payload/payload.ts'
import { suites } from '../suites/catalog.ts'
import { type Handler, type Source, type Step, type Task, taskOf } from '../task/task.ts'
import { plural } from './figures.ts'
import type { Contest } from './schema.ts'

/** The client of a contest: each target's own, NestJS's, or plain sockets. */
export const contestClients = ['own', 'nest', 'raw'] as const
export type ContestClient = (typeof contestClients)[number]

/** The connections of requests: one for each caller, or one that all share. */
export const layouts = ['per-client', 'shared'] as const
export type Layout = (typeof layouts)[number]

const LAYOUTS: Readonly<Record<Layout, string>> = {
  'per-client': 'connection per client',
  shared: 'shared connection'
}

const WHO_ASKS: Readonly<Record<ContestClient, string>> = {
  own: 'each with its own client',
  nest: "Nest's client asks everybody",
  raw: 'raw sockets ask everybody'
}

const HANDLERS: Readonly<Record<Handler, string>> = {
  sync: '',
  async: 'an async handler',
  waits: 'a handler that waits for a later turn'
}

const SOURCES: Readonly<Record<Source, string>> = {
  sync: 'a generator',
  async: 'an async generator',
  observable: 'an Observable'
}

const STEPS: Readonly<Record<Step, string>> = {
  publish: 'events stored, each acknowledged',
  transact: 'events stored in the transaction of a row, each committed',
  consume: 'stored events handled, each acknowledged',
  relay: "events of an outbox's relay, out of the database into the store"
}

/** The parts of a title, the most important first. */
export function titleOf(contest: Contest): string {
  if (taskOf(contest).mode === 'suite') return `${describeTask(taskOf(contest))} · ${loadOf(contest)}`
  const { scope } = contest
  const said = [layoutOf(contest), loadOf(contest), WHO_ASKS[contest.client], settingOf(contest)]
  const parts = scope === undefined ? said : [scope, ...said]
  return (taskOf(contest).mode === 'start' ? parts.slice(1) : parts).join(' · ')
}

/** The task as text; empty for a plain echo. */
export function describeTask(task: Task): string {
  if (task.mode === 'request') return HANDLERS[task.handler]
  if (task.mode === 'suite') return suites[task.suite].workloads[task.workload]?.title ?? task.workload
  if (task.mode === 'start') return 'from the start of the process to the first answer'
  if (task.mode === 'durable') return STEPS[task.step]
  if (task.mode === 'emit') {
    const sent =
      task.batch === 1
        ? 'events, each awaited'
        : `events, ${task.batch.toLocaleString('en')} before any is awaited`
    return task.busy === 0 ? sent : `${sent}, a server that needs ${task.busy} ms for each`
  }
  const values = `${plural(task.values, 'value')} of ${SOURCES[task.generator]}`
  const read = task.take === 'send' ? `${values}, read by send()` : values
  return task.pause === 0 ? read : `${read}, ${task.pause} ms after each`
}

export const layoutOf = ({ layout }: Pick<Contest, 'layout'>): string => LAYOUTS[layout]

export function loadOf(contest: Contest): string {
  const { concurrency, connections, rate, sloMs } = contest
  const { mode } = taskOf(contest)
  if (mode === 'start') return 'start'
  if (mode === 'stream') return `${plural(concurrency, 'stream')} at a time`
  if (mode === 'emit') return plural(concurrency, 'caller')
  if (mode === 'durable') return `${plural(concurrency, 'event')} in flight`
  const over = `over ${plural(connections, 'connection')}`
  if (sloMs !== null) return `highest rate with p99 under ${sloMs} ms ${over}`
  if (rate !== null) return `${rate.toLocaleString('en')} requests per second ${over}`
  return `${plural(concurrency, 'request')} at a time`
}

/** The setting as text: the payload, the task, and the runtime of client and server. */
export function settingOf(contest: Contest): string {
  const asked = describeTask(taskOf(contest))
  if (taskOf(contest).mode === 'suite') return asked
  return [payloadOf(contest), ...(asked === '' ? [] : [asked]), contest.runtime].join(' · ')
}

export function payloadOf({ pattern, shape, payload }: Contest): string {
  const size = `${payload.toLocaleString('en')} B`
  if (shape === 'custom') return `${pattern}, ${size} as JSON`
  const { title, defaultBytes } = shapes[shape]
  return `${title}, ${size}${defaultBytes === undefined ? ' as JSON' : ''}`
}

/** A text that is equal for contests that differ at most in the number of requests at a time. */
export function familyOf(contest: Contest): string {
  const { scope, client, layout, pattern, shape, payload, runtime, rate, sloMs } = contest
  const asked = [layout, pattern, shape, payload, runtime, rate, sloMs, taskOf(contest)]
  return JSON.stringify([scope, client, ...asked])
}

/** A text that is equal for the same contest in two reports. */
export const keyOf = (contest: Contest): string => `${familyOf(contest)} ${contest.concurrency}`
