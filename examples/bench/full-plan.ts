/**
 * The plan of the published report: everything that is compared, in at most 39 minutes. Most of the time is for this
 * project and NestJS; all others get enough to be ranked. Every row of the report states how often and how long it
 * was measured.
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
import type { Contest } from './report/schema.ts'
import { ECHO, type Source, type StreamTask, sources, steps } from './task/task.ts'

/** Minutes after which no measurement is begun: the running one, and writing the report, fit into the rest. */
const MINUTES = 38

/** Times for the rows that are published first. */
const LONG = { runs: 5, duration: 5, warmup: 1 }
/** Times for the most common uses, besides the echo. */
const MEDIUM = { runs: 3, duration: 1.5, warmup: 0.5 }
/** Times for all other rows. */
const SHORT = { runs: 2, duration: 1, warmup: 0.3 }

/**
 * Seconds beyond its expected end after which a measurement is given up: one that hangs must not use up the time of
 * the others.
 */
const PATIENCE = 20

const REQUESTS = 100
/** The number of events in flight. */
const STORED = 256

/** The title of the part that compares targets over NATS, and no peers. */
export const OVER_NATS = 'over NATS'
export const OVER_REDIS = 'over Redis'
export const OVER_RABBITMQ = 'over RabbitMQ'
export const OVER_MQTT = 'over MQTT'
export const OVER_GRPC = 'over gRPC'
export const WATCHED = 'watched'
export const INSIDE_NEST = 'inside Nest'

const ON_NESTS_WIRE: Entrant = { target: 'elysia', label: "Nest's wire", protocol: 'nest' }
const NEST_ON_NODE: Entrant = { target: 'nest', label: 'node', runtime: 'node' }

/** Whether a runtime is the one for most of the report; on the other one only the essential contests are repeated. */
const isMain = (runtime: Runtime): boolean => runtime === 'bun'

const entrants = (...names: readonly TargetName[]): Entrant[] => names.map((target) => ({ target }))

const withCodec = (codec: Codec): Entrant => ({ target: 'elysia', label: codec, codec })

export function fullPlan(options: FullOptions): Plan {
  const chosen = options.runtimes ?? runtimes
  const long = { ...LONG, ...options.times }
  const medium = { ...MEDIUM, ...options.times }
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
    part(
      'Objects, and handlers that wait',
      medium,
      chosen.flatMap((runtime) => realWork(runtime, short))
    ),
    part('Inside Nest', short, chosen.flatMap(insideNest)),
    part(
      'Streams',
      medium,
      chosen.flatMap((runtime) => streams(runtime, short))
    ),
    part('A slow reader', short, chosen.filter(isMain).flatMap(slowReader)),
    part('Events', short, chosen.filter(isMain).flatMap(events)),
    part('Events that are stored', short, chosen.flatMap(durable)),
    part('Start', short, chosen.flatMap(starts)),
    part('Over NATS', short, chosen.flatMap(overNats)),
    part('Over Redis', short, chosen.flatMap(overRedis)),
    part('Over RabbitMQ', short, chosen.flatMap(overRabbitmq)),
    part('Over MQTT', short, chosen.flatMap(overMqtt)),
    part('Over gRPC', short, chosen.flatMap(overGrpc)),
    part('Watched', medium, chosen.flatMap(watched)),
    part('Other numbers of requests at a time', short, chosen.flatMap(byConcurrency)),
    part('Other payloads, other codecs', short, chosen.flatMap(byPayload)),
    part('The same client asks both servers', short, chosen.filter(isMain).flatMap(sameClient))
  ].filter(
    ({ contests }) =>
      contests.length > 0 && (options.parts?.includes(contests[0]?.contest.part ?? '') ?? true)
  )
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
    task: ECHO,
    ...differs
  })
}

/** A string of 200 B by 100 callers: the contest with all peers. */
function allPeers(runtime: Runtime, short: typeof SHORT): PlannedContest[] {
  const long = entrants('elysia', 'nest', ...(isMain(runtime) ? (['raw'] as const) : []))
  const others = [
    ON_NESTS_WIRE,
    ...(isMain(runtime) ? [NEST_ON_NODE] : []),
    ...entrants('moleculer', 'grpc', 'connect', 'trpc', 'rsocket-js')
  ].map((entrant) => ({ ...entrant, ...short }))
  return combinations({ runtimes: [runtime] }).map((contest) => ({ contest, entrants: [...long, ...others] }))
}

/** A text with handlers that wait, and objects: more like real services than the echo of a text. */
function realWork(runtime: Runtime, short: typeof SHORT): PlannedContest[] {
  const others = entrants('moleculer', 'grpc', 'connect', 'trpc', 'rsocket-js')
  const brief = (all: readonly Entrant[]) => all.map((entrant) => ({ ...entrant, ...short }))
  const runtimes = [runtime]
  const echoed = combinations({ runtimes, payloads: [readPayload('object', undefined)] })
  const waiting = combinations({ runtimes, task: { mode: 'request', handler: 'waits' } })
  const promised = isMain(runtime)
    ? combinations({ runtimes, task: { mode: 'request', handler: 'async' } })
    : []
  // With a connection per client, these differences are too small in comparison with the system calls, as are codecs.
  const beside = (more: readonly Entrant[]) => (contest: Contest) => ({
    contest,
    entrants: [
      ...entrants('elysia', 'nest'),
      ...(contest.layout === 'shared' && isMain(runtime) ? brief(more) : [])
    ]
  })
  return [
    ...echoed.map(beside((CODECS.object ?? []).map(withCodec))),
    ...waiting.map(beside(others)),
    ...promised.map(beside([]))
  ]
}

/** Nest with its own server and client, and with those of this project. */
function insideNest(runtime: Runtime): PlannedContest[] {
  const payloads = (['flat', 'object'] as const).map((shape) => readPayload(shape, undefined))
  const asked = combinations({ runtimes: [runtime], layouts: ['shared'], payloads })
  return scoped(INSIDE_NEST, asked, entrants('nest', 'nest-strategy'))
}

/** The peers that can stream each kind of source. */
const STREAMING: Readonly<Record<Source, readonly TargetName[]>> = {
  sync: ['grpc', 'rsocket-js'],
  async: ['connect', 'trpc'],
  observable: []
}

const LONG_STREAM = { mode: 'stream', take: 'iterate', values: 100_000, pause: 0 } as const
const RECORD = { payloads: [readPayload('record', undefined)] } as const

function streams(runtime: Runtime, short: typeof SHORT): PlannedContest[] {
  const one = { ...RECORD, runtimes: [runtime], layouts: ['shared'], concurrency: [1] } as const
  const main = isMain(runtime)
  const long = (main ? sources : (['sync'] as const)).flatMap((generator) =>
    combinations({ ...one, task: { ...LONG_STREAM, generator } })
  )
  const sent = (main ? (['sync', 'observable'] as const) : []).flatMap((generator) =>
    combinations({ ...one, task: { ...LONG_STREAM, generator, take: 'send' } })
  )
  const many = combinations({
    ...RECORD,
    runtimes: [runtime],
    task: { ...LONG_STREAM, generator: 'sync', values: 10 }
  })
  return [...long, ...sent, ...many].map((contest) => {
    const task = contest.task as StreamTask
    const others = main && task.take === 'iterate' ? STREAMING[task.generator] : []
    const brief = [...(main ? [ON_NESTS_WIRE] : []), ...entrants(...others)]
    return {
      contest,
      entrants: [...entrants('elysia', 'nest'), ...brief.map((entrant) => ({ ...entrant, ...short }))]
    }
  })
}

/**
 * A reader that takes one value per second, with a server that has a million: the memory of client and server is
 * compared.
 */
function slowReader(runtime: Runtime): PlannedContest[] {
  const task: StreamTask = { ...LONG_STREAM, generator: 'sync', values: 1_000_000, pause: 1_000 }
  const asked = { ...RECORD, runtimes: [runtime], layouts: ['shared'], concurrency: [1], task } as const
  return combinations(asked).map((contest) => ({
    contest,
    entrants: [...entrants('elysia', 'nest'), ON_NESTS_WIRE, ...entrants(...STREAMING.sync)]
  }))
}

/**
 * Events that are awaited one by one and in batches, to a server that keeps up; and events of 20 KB to a server that
 * does not.
 */
function events(runtime: Runtime): PlannedContest[] {
  const one = { runtimes: [runtime], layouts: ['shared'], concurrency: [1] } as const
  const slow = { ...one, payloads: [readPayload('flat', 20_000)] }
  const contests = [1, 1_000].flatMap((batch) => [
    ...combinations({ ...one, task: { mode: 'emit', batch, busy: 0 } }),
    ...combinations({ ...slow, task: { mode: 'emit', batch, busy: 0.5 } })
  ])
  return contests.map((contest) => ({
    contest,
    // This client keeps everything that a slow server does not accept in memory: gigabytes per second.
    entrants: [
      ...entrants('elysia', 'nest'),
      ON_NESTS_WIRE,
      ...(contest.payload > 200 ? [] : entrants('rsocket-js'))
    ]
  }))
}

/**
 * Events into JetStream and out of it, with as many in flight as the driver allows; and out of a database, which only
 * this project offers.
 */
function durable(runtime: Runtime): PlannedContest[] {
  const asked = storedEvents(runtime)
  return steps
    .filter((step) => step !== 'transact' && (step !== 'relay' || isMain(runtime)))
    .flatMap((step) =>
      combinations({ ...asked, task: { mode: 'durable', step } }).map((contest) => ({
        contest,
        entrants: step === 'relay' ? entrants('outbox') : entrants('jetstream', 'elysia-durable')
      }))
    )
}

/** The time from the start of a server's process to its first answer. */
function starts(runtime: Runtime): PlannedContest[] {
  const asked = { runtimes: [runtime], layouts: ['shared'], concurrency: [1] } as const
  return combinations({ ...asked, task: { mode: 'start' } }).map((contest) => ({
    contest,
    entrants: entrants(
      'elysia',
      'nest',
      'nest-strategy',
      'moleculer',
      'grpc',
      'connect',
      'trpc',
      'rsocket-js'
    )
  }))
}

const scoped = (scope: string, contests: readonly Contest[], among: readonly Entrant[]): PlannedContest[] =>
  contests.map((contest) => ({ contest: { ...contest, scope }, entrants: among }))

/**
 * Requests and streams over an engine, with one server for each measurement. @param bare the driver alone, which has
 * no streams
 */
function overEngine(
  runtime: Runtime,
  scope: string,
  services: readonly Entrant[],
  bare: readonly Entrant[]
): PlannedContest[] {
  const one = { runtimes: [runtime], layouts: ['shared'] } as const
  const task: StreamTask = { ...LONG_STREAM, generator: 'sync' }
  return [
    ...scoped(scope, combinations(one), [...services, ...bare]),
    ...scoped(scope, combinations({ ...one, ...RECORD, concurrency: [1], task }), services)
  ]
}

const overNats = (runtime: Runtime): PlannedContest[] =>
  overEngine(runtime, OVER_NATS, entrants('nest-nats', 'elysia-nats'), [
    ...entrants('nats'),
    { target: 'nats', label: 'request()', method: 'send' }
  ])

/** One run for each entry: used on the other runtime, where each start takes seconds, and for rare uses. */
const once = (all: readonly Entrant[]): Entrant[] => all.map((entrant) => ({ ...entrant, runs: 1 }))

function overRedis(runtime: Runtime): PlannedContest[] {
  return [
    ...overEngine(runtime, OVER_REDIS, entrants('nest-redis', 'elysia-redis'), entrants('redis')),
    ...storedOver(runtime, OVER_REDIS, once(entrants('redis-streams', 'elysia-redis-durable')))
  ]
}

const overMqtt = (runtime: Runtime): PlannedContest[] =>
  overEngine(runtime, OVER_MQTT, entrants('nest-mqtt', 'elysia-mqtt'), entrants('mqtt')).map(
    ({ contest, entrants }) => ({ contest, entrants: once(entrants) })
  )

/** Calls and streams over gRPC, and over RSocket beside them. */
function overGrpc(runtime: Runtime): PlannedContest[] {
  const one = { runtimes: [runtime], layouts: ['shared'] } as const
  const payloads = (['flat', 'object'] as const).map((shape) => readPayload(shape, undefined))
  const task: StreamTask = { ...LONG_STREAM, generator: 'sync' }
  const services = entrants('nest-grpc', 'elysia-grpc', 'elysia')
  return [
    ...scoped(
      OVER_GRPC,
      combinations({ ...one, payloads }),
      once([...services, ...entrants('grpc', 'connect')])
    ),
    ...scoped(
      OVER_GRPC,
      combinations({ ...one, ...RECORD, concurrency: [1], task }),
      once([...services, ...entrants('grpc')])
    )
  ]
}

function overRabbitmq(runtime: Runtime): PlannedContest[] {
  const services = entrants('nest-rabbitmq', 'elysia-rabbitmq')
  const asked = overEngine(runtime, OVER_RABBITMQ, services, entrants('rabbitmq'))
  return [
    ...asked.map(({ contest, entrants }) => ({
      contest,
      entrants: isMain(runtime) && contest.task === undefined ? entrants : once(entrants)
    })),
    ...storedOver(runtime, OVER_RABBITMQ, once(entrants('rabbitmq-quorum', 'elysia-rabbitmq-durable')))
  ]
}

/** Durable events with an engine's driver alone, and with this project. */
function storedOver(runtime: Runtime, scope: string, among: readonly Entrant[]): PlannedContest[] {
  return (['publish', 'consume'] as const).flatMap((step) =>
    scoped(scope, combinations({ ...storedEvents(runtime), task: { mode: 'durable', step } }), among)
  )
}

const storedEvents = (runtime: Runtime) =>
  ({ runtimes: [runtime], layouts: ['shared'], concurrency: [STORED] }) as const

/** Contests that show what metrics and traces cost our server. */
function watched(runtime: Runtime): PlannedContest[] {
  const objects = [readPayload('object', undefined)]
  const asked = combinations({ runtimes: [runtime], layouts: ['shared'], payloads: objects })
  return scoped(WATCHED, asked, entrants('elysia', 'elysia-metrics', 'elysia-sampled', 'elysia-traced'))
}

function byConcurrency(runtime: Runtime): PlannedContest[] {
  const names = [...entrants('elysia', 'nest'), ...(isMain(runtime) ? once(entrants('raw')) : [])]
  return combinations({ runtimes: [runtime], concurrency: [1, 10, 1000] }).map((contest) => ({
    contest,
    entrants: names
  }))
}

/** The codecs for each shape of payload: codecs differ for objects, and bytes need a codec that carries them. */
const CODECS: Partial<Readonly<Record<PayloadShape, readonly Codec[]>>> = {
  object: ['shapes', 'msgpack'],
  document: ['shapes', 'msgpack'],
  list: ['shapes', 'msgpack'],
  binary: ['bytes', 'msgpack']
}

function byPayload(runtime: Runtime): PlannedContest[] {
  const names = ['document', 'list', 'binary', 'large'] as const
  const some = isMain(runtime) ? names : (['list', 'binary'] as const)
  const asked = combinations({
    runtimes: [runtime],
    payloads: some.map((shape) => readPayload(shape, undefined)),
    layouts: isMain(runtime) ? layouts : ['shared']
  })
  return asked.map((contest) => {
    const codecs = (CODECS[contest.shape] ?? []).map(withCodec)
    // With a connection per client, codecs differ too little in comparison with the system calls: the first one is
    // enough.
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
