/**
 * The plan of the published report: everything that is compared, in at most 20 minutes. This project and Nest get most
 * of them, everybody else enough to be placed; every row of the report says how often and how long it was measured.
 */
import type { FullOptions } from './options/full-options.ts'
import { readPayload } from './options/payload-options.ts'
import type { PayloadShape } from './payload/payload.ts'
import type { Codec } from './peers/echo-client.ts'
import type { TargetName } from './peers/targets.ts'
import {
  type Combined,
  contestsOf,
  type Entrant,
  nameOfEntrant,
  type Part,
  type Plan,
  type PlannedContest
} from './plan.ts'
import { type Runtime, runtimes } from './process/runtime.ts'
import { layouts } from './report/contest.ts'

/** Minutes after which nothing more is begun: what is under way, and drawing the report, fit into the rest. */
const MINUTES = 19

/** The rows that are published first. */
const LONG = { runs: 5, duration: 5, warmup: 1 }
/** All others. */
const SHORT = { runs: 2, duration: 2, warmup: 0.5 }

/** Seconds after which a measurement that should be over is given up: one that hangs must not cost the others' time. */
const PATIENCE = 20

const REQUESTS = 100

const ON_NESTS_WIRE: Entrant = { target: 'elysia', label: "Nest's wire", protocol: 'nest' }
const NEST_ON_NODE: Entrant = { target: 'nest', label: 'node', runtime: 'node' }

/** What most of the report is about; under the other runtime only the essential is measured again. */
const isMain = (runtime: Runtime): boolean => runtime === 'bun'

const entrants = (...names: readonly TargetName[]): Entrant[] => names.map((target) => ({ target }))

const withCodec = (codec: Codec): Entrant => ({ target: 'elysia', label: codec, codec })

export function fullPlan(options: FullOptions): Plan {
  const chosen = options.runtimes ?? runtimes
  const long = { ...LONG, ...options.times }
  const short = { ...SHORT, ...options.times }
  const part = (title: string, times: typeof LONG, contests: readonly PlannedContest[]): Part => ({
    ...times,
    contests: contests.map((planned) => ({ ...planned, contest: { ...planned.contest, part: title } }))
  })
  const parts = [
    part(
      'All peers',
      long,
      chosen.flatMap((runtime) => allPeers(runtime, short))
    ),
    part('Other numbers of requests at a time', short, chosen.flatMap(byConcurrency)),
    part('Other payloads, other codecs', short, chosen.flatMap(byPayload)),
    part('The same client asks both servers', short, chosen.filter(isMain).flatMap(sameClient))
  ].filter(({ contests }) => contests.length > 0)
  const names = parts.flatMap(({ contests }) =>
    contests.flatMap((planned) => planned.entrants.map(nameOfEntrant))
  )
  return {
    parts,
    options: {
      targets: [...new Set(names)],
      ...long,
      processes: 1,
      method: 'request',
      protocol: 'rsocket',
      codec: 'json'
    },
    load: { rate: null, sloMs: null, processes: 1, custom: null },
    patience: options.patience ?? PATIENCE,
    within: options.within ?? MINUTES * 60
  }
}

function combinations(differs: Partial<Combined>) {
  return contestsOf({
    runtimes: ['bun'],
    clients: ['own'],
    payloads: [readPayload('flat', undefined)],
    layouts,
    concurrency: [REQUESTS],
    processes: 1,
    custom: null,
    rate: null,
    sloMs: null,
    ...differs
  })
}

/** A string of 200 B by 100 callers, which is what everybody is compared in. */
function allPeers(runtime: Runtime, short: typeof SHORT): PlannedContest[] {
  const long = entrants('elysia', 'nest', ...(isMain(runtime) ? (['raw'] as const) : []))
  const others = [
    ON_NESTS_WIRE,
    ...(isMain(runtime) ? [NEST_ON_NODE] : []),
    ...entrants('nest-strategy', 'moleculer', 'grpc', 'connect', 'trpc', 'rsocket-js')
  ].map((entrant) => ({ ...entrant, ...short }))
  return combinations({ runtimes: [runtime] }).map((contest) => ({ contest, entrants: [...long, ...others] }))
}

function byConcurrency(runtime: Runtime): PlannedContest[] {
  const names = entrants('elysia', 'nest', ...(isMain(runtime) ? (['raw'] as const) : []))
  return combinations({ runtimes: [runtime], concurrency: [1, 10, 1000] }).map((contest) => ({
    contest,
    entrants: names
  }))
}

/** Codecs differ in what they make of objects; bytes need one that carries them. */
const CODECS: Partial<Readonly<Record<PayloadShape, readonly Codec[]>>> = {
  object: ['msgpack', 'msgpack-records'],
  document: ['msgpack', 'msgpack-records'],
  list: ['msgpack', 'msgpack-records'],
  binary: ['bytes', 'msgpack']
}

function byPayload(runtime: Runtime): PlannedContest[] {
  const names = ['object', 'document', 'list', 'binary', 'large'] as const
  const some = isMain(runtime) ? names : (['object', 'list', 'binary'] as const)
  const asked = combinations({
    runtimes: [runtime],
    payloads: some.map((shape) => readPayload(shape, undefined)),
    layouts: isMain(runtime) ? layouts : ['shared']
  })
  return asked.map((contest) => {
    const codecs = (CODECS[contest.shape] ?? []).map(withCodec)
    // On a connection per client codecs are lost in what the system calls cost: the first one is enough.
    const ours = contest.shape === 'binary' ? codecs.slice(0, 1) : entrants('elysia')
    const others = contest.shape === 'binary' ? codecs.slice(1) : codecs
    return {
      contest,
      entrants: [...ours, ...entrants('nest'), ...(contest.layout === 'shared' ? others : [])]
    }
  })
}

function sameClient(runtime: Runtime): PlannedContest[] {
  return combinations({ runtimes: [runtime], clients: ['nest', 'raw'] }).map((contest) => ({
    contest,
    entrants: entrants('elysia', 'nest')
  }))
}
