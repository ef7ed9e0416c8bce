/** Plans of lives, as data: a configuration, and steps that happen at their times. A seed makes a plan. */
import { HEAVY, OFTEN, type Often, SELDOM, sizesOf, timesOf, valuesOf } from './amounts.ts'
import {
  CARRIERS,
  type CarrierName,
  ENGINES,
  FUTURES,
  REDRIVES,
  RSOCKETS,
  SOCKETS,
  STORES
} from './carriers.ts'
import { loadOf } from './load.ts'
import { Random } from './random.ts'
import { bytesOf } from './stranger.ts'

export interface Config {
  readonly carrier: CarrierName
  readonly clients: number
  /** Services of the same name, which share the messages; over sockets each has a port. */
  readonly services: number
  /** Whether a service of another name handles the same events, and shares the requests. */
  readonly hasOther: boolean
  /** Connections of a client to each port. */
  readonly connections: number
  /** Most milliseconds that bytes need from one end to the other. */
  readonly delay: number
  readonly resume: boolean
  readonly lease: boolean
  /** Requests in flight of a service, and of one of its connections; 0: no limit. */
  readonly inFlight: number
  readonly inFlightPerConnection: number
  /** Milliseconds for a call; 0: no limit. */
  readonly timeout: number
  /** Whether durable events of a key are handled in their order. */
  readonly ordered: boolean
  /** Whether an event recurs every ten seconds. */
  readonly every: boolean
  /** Ends the names of services and the ids of events, where several lives share a server. */
  readonly suffix?: string
}

/** The options of a service that a deploy may change. */
export interface Options {
  readonly inFlight: number
  readonly inFlightPerConnection: number
  readonly concurrency: number
  readonly attempts: number
  /** Whether it has the handler of `filed`. */
  readonly files: boolean
}

/** How long a handler takes, and what it does. */
export type Work = 'echo' | 'wait' | 'fail' | 'never' | 'back'
/** How the handler of a durable event fails: with an error, or by asking for a later delivery. */
export type Failing = 'error' | 'later'
/** Events are published at once, each when the one before is stored, or one in each millisecond. */
export type Pace = 'at once' | 'in turn' | 'steadily'
export type Source = 'count' | 'ticks' | 'observable' | 'echo'

export type Step = { readonly at: number } & (
  | {
      readonly do: 'request'
      readonly client: number
      readonly work: Work
      readonly takes: number
      readonly times: number
      readonly idempotent: boolean
      /** Characters of the request and of its answer. */
      readonly size: number
      /** Milliseconds after which the caller gives up; 0: never. */
      readonly abort: number
    }
  | {
      readonly do: 'stream'
      readonly client: number
      readonly source: Source
      readonly values: number
      /** Values after which the reader leaves. */
      readonly take: number
      readonly pause: number
    }
  | {
      readonly do: 'channel'
      readonly client: number
      readonly to: 'total' | 'relay'
      readonly values: number
      readonly pause: number
      readonly size: number
    }
  | {
      readonly do: 'emit'
      readonly client: number
      readonly times: number
      readonly takes: number
      readonly size: number
    }
  | {
      readonly do: 'publish'
      /** The patterns of the events, in turn. */
      readonly to: readonly ('kept' | 'filed')[]
      /** Whether each event has an id of its user. */
      readonly hasId: boolean
      readonly client: number
      readonly times: number
      readonly pace: Pace
      readonly keys: number
      /** Milliseconds after which the events come; 0: at once. */
      readonly delay: number
      readonly takes: number
      /** How often the handler fails before it succeeds. */
      readonly failures: number
      readonly failing: Failing
    }
  | { readonly do: 'cut'; readonly client: number }
  | { readonly do: 'freeze'; readonly client: number; readonly for: number }
  | {
      readonly do: 'restart'
      readonly service: number
      readonly for: number
      readonly times: number
    }
  /** A service is started again with other options, and perhaps for a time without one of its durable handlers. */
  | {
      readonly do: 'deploy'
      readonly service: number
      readonly for: number
      readonly options: Options
    }
  /** An event that waits for its time is deleted. */
  | { readonly do: 'cancel'; readonly client: number }
  /** The process with all services and clients ends at once, and another one begins. */
  | { readonly do: 'die' }
  /** The wall clock jumps. */
  | { readonly do: 'hop'; readonly by: number }
  | { readonly do: 'join' }
  /** A client or a service loses its connection to the engine's server: for a time, or with 0 it may connect at once. */
  | {
      readonly do: 'lose'
      readonly end: 'client' | 'service'
      readonly n: number
      readonly for: number
      readonly times: number
    }
  /** Dead letters are given back to their group. */
  | { readonly do: 'redrive' }
  | { readonly do: 'pause'; readonly for: number; readonly times: number }
  /** The server of an engine is away, or stands still. */
  | { readonly do: 'away'; readonly for: number }
  | { readonly do: 'still'; readonly for: number }
  /** A stranger sends bytes, or begins a message of so many fragments, which never ends. */
  | { readonly do: 'stranger'; readonly bytes: readonly number[]; readonly fragments?: number }
  | { readonly do: 'close'; readonly client: number }
)

export interface Plan {
  readonly config: Config
  readonly steps: readonly Step[]
}

export interface Wishes {
  readonly carriers?: readonly CarrierName[] | undefined
  /** The worst that may happen. Default: chosen by the seed. */
  readonly worst?: Worst | undefined
  /** Latest step, in milliseconds. Default: chosen by the seed. */
  readonly within?: number | undefined
}

/** Only calls; the acts of operators beside them, after which nothing may be lost; losses as well. */
export type Worst = 'calls' | 'acts' | 'losses'

/** Makes the plan of a seed. */
export function planOf(seed: number, { carriers = CARRIERS, worst, within }: Wishes = {}): Plan {
  const random = new Random(seed)
  const carrier = random.of(carriers)
  const isSocket = SOCKETS.has(carrier)
  const isRSocket = RSOCKETS.has(carrier)
  const isLimited = isSocket && random.chance(0.5)
  const config: Config = {
    carrier,
    clients: random.between(1, 3),
    services: carrier === 'websocket' ? 1 : random.between(1, 2),
    hasOther: !isSocket && random.chance(0.3),
    connections: isSocket && random.chance(0.3) ? 2 : 1,
    delay: random.of([0, 1, 5, 30]),
    resume: isRSocket && random.chance(0.5),
    lease: isRSocket && random.chance(0.5),
    inFlight: isLimited && carrier !== 'websocket' && random.chance(0.5) ? random.between(2, 12) : 0,
    inFlightPerConnection: isLimited && random.chance(0.5) ? random.between(2, 12) : 0,
    timeout: random.of([0, 500, 2_000, 30_000]),
    ordered: random.chance(0.5),
    every: within === undefined && FUTURES.has(carrier) && random.chance(0.3)
  }
  // In some lives everything happens within a short time, so that more of it meets.
  const latest = within ?? random.of([undefined, undefined, 500, 2_000])
  const least = worst ?? random.of(['calls', 'acts', 'losses', 'losses'] as const)
  const isHeavy = within !== undefined || random.chance(HEAVY)
  const hasFuture = FUTURES.has(carrier) && within === undefined
  const kinds = { worst: least, within: latest, hasFuture, often: isHeavy ? OFTEN : SELDOM }
  const hasLoad = least === 'losses' && within === undefined && ENGINES.has(carrier) && STORES.has(carrier)
  const steps = hasLoad && random.chance(0.2) ? [...loadOf(random)] : []
  for (let n = random.between(3, isHeavy ? 40 : 80); n > 0; n--) steps.push(stepOf(random, config, kinds))
  return { config, steps: steps.sort((one, other) => one.at - other.at) }
}

interface Kinds {
  readonly worst: Worst
  readonly within: number | undefined
  /** Whether events may wait for their time, which would take long in real time. */
  readonly hasFuture: boolean
  readonly often: Often
}

function stepOf(random: Random, config: Config, { worst, within, hasFuture, often }: Kinds): Step {
  const at = random.between(0, within ?? random.of([50, 50, 500, 500, 5_000, 90_000]))
  const client = random.between(0, config.clients - 1)
  const sizes = sizesOf(config.carrier)
  const calls: (() => Step)[] = [
    () => ({
      at,
      do: 'request',
      client,
      // On Nest's wire a call cannot be cancelled, so a handler that never ends would keep its place in the limits.
      work: random.of([
        'echo',
        'wait',
        'wait',
        'fail',
        config.carrier === 'nest' ? 'wait' : 'never',
        RSOCKETS.has(config.carrier) ? 'back' : 'echo'
      ] as const),
      takes: random.between(0, random.of([5, 100, 3_000])),
      idempotent: random.chance(0.3),
      ...timesOf(random, often.request, sizes),
      abort: random.chance(0.2) ? random.between(1, 300) : 0
    }),
    () => ({
      at,
      do: 'emit',
      client,
      takes: random.of([0, 0, 1, 20]),
      ...timesOf(random, often.emit, sizes)
    }),
    () => ({
      at,
      do: 'stream',
      client,
      source: random.of(['count', 'ticks', 'observable', 'echo'] as const),
      // On Nest's wire nobody can tell a source that its reader has left.
      values: random.of([...often.value, config.carrier !== 'nest' ? 1e9 : often === OFTEN ? 5_000 : 50]),
      take: random.of(often.taken),
      pause: random.of([0, 0, 1, 20])
    })
  ]
  if (config.carrier !== 'nest')
    calls.push(() => ({
      at,
      do: 'channel',
      client,
      to: random.of(['total', 'relay'] as const),
      ...valuesOf(random, sizes, often)
    }))
  if (STORES.has(config.carrier)) {
    const publish = (): Step => ({
      at,
      do: 'publish',
      client,
      to: random.of([['kept'], ['filed'], ['kept', 'filed'], ['kept', 'filed']] as const),
      keys: random.of([1, 3, 20]),
      ...timeOf(random, hasFuture),
      ...random.of([
        { pace: 'at once', times: random.of(often.published), takes: random.of([0, 0, 5, 100]) },
        { pace: random.of(['in turn', 'steadily'] as const), times: random.of(often.paced), takes: 0 }
      ] as const),
      failures: random.of([0, 0, 0, 0, 1, 2, REDRIVES.has(config.carrier) ? 5 : 2]),
      failing: random.of(['error', 'error', 'later'] as const)
    })
    calls.push(publish, publish)
    if (hasFuture) calls.push(() => ({ at, do: 'cancel', client }))
  }
  if (worst === 'calls' || random.chance(0.7)) return random.of(calls)()
  const acts = actsOf(random, config, at, client, often)
  const losses = worst === 'acts' ? [] : lossesOf(random, config, at, client)
  return random.of([...acts, ...losses])()
}

/** The time of events; those that may be cancelled need a name. */
function timeOf(random: Random, hasFuture: boolean) {
  const delay = hasFuture ? random.of([0, 0, 0, 0, 0, 0, 5, 500, 60_000]) : 0
  return { delay, hasId: delay > 0 || random.chance(0.5) }
}

/** Acts of operators, after which nothing that was stored may be lost, or run twice. */
function actsOf(
  random: Random,
  config: Config,
  at: number,
  client: number,
  often: Often
): readonly (() => Step)[] {
  const acts: (() => Step)[] = [
    () => ({
      at,
      do: 'restart',
      service: random.between(0, config.services - 1),
      for: random.between(0, 400),
      times: random.of(often.restart)
    }),
    () => ({
      at,
      do: 'deploy',
      service: random.between(0, config.services - 1),
      for: random.of([1, 500, 10_000]),
      options: {
        inFlight: config.inFlight === 0 ? 0 : random.between(1, 12),
        inFlightPerConnection: config.inFlightPerConnection === 0 ? 0 : random.between(1, 12),
        concurrency: random.of([1, 2, 16]),
        attempts: random.of([2, 3, 5]),
        files: random.chance(0.5)
      }
    })
  ]
  if (!SOCKETS.has(config.carrier)) acts.push(() => ({ at, do: 'join' }))
  if (STORES.has(config.carrier))
    acts.push(
      () => ({
        at,
        do: 'pause',
        ...pauseOf(random, often)
      }),
      () => (REDRIVES.has(config.carrier) ? { at, do: 'redrive' } : { at, do: 'pause', for: 1, times: 1 })
    )
  acts.push(() => ({ at, do: 'close', client }))
  return acts
}

/** A long pause comes once. */
function pauseOf(random: Random, often: Often) {
  const pause = random.between(1, random.of([2_000, 2_000, 60_000]))
  return { for: pause, times: pause > 2_000 ? 1 : random.of(often.pause) }
}

/** Faults of networks, servers and clocks. */
function lossesOf(random: Random, config: Config, at: number, client: number): readonly (() => Step)[] {
  const losses: (() => Step)[] = [
    () => ({
      at,
      do: 'hop',
      by: random.of(config.carrier === 'kafka' ? [-5_000, 5_000] : [-3_600_000, 3_600_000])
    })
  ]
  if (config.carrier === 'sqlite') losses.push(() => ({ at, do: 'die' }))
  if (ENGINES.has(config.carrier))
    losses.push(
      () => ({ at, do: 'away', for: random.between(1, 3_000) }),
      () => ({ at, do: 'still', for: random.between(1, 3_000) }),
      () => ({ at, do: 'lose', end: 'client', n: client, ...awayOf(random) }),
      () => ({ at, do: 'lose', end: 'service', n: random.between(0, config.services - 1), ...awayOf(random) })
    )
  else if (SOCKETS.has(config.carrier))
    losses.push(
      () => ({ at, do: 'cut', client }),
      () => ({ at, do: 'cut', client }),
      () => ({ at, do: 'freeze', client, for: random.of([10, 200, 3_000]) }),
      () =>
        random.chance(0.9)
          ? { at, do: 'stranger', bytes: bytesOf(random) }
          : { at, do: 'stranger', bytes: [], fragments: random.of([1, 20, 50]) }
    )
  return losses
}

/** Milliseconds for which the connection of one end is lost: also longer than signs of life are waited for. */
const AWAY = [0, 1, 100, 2_000, 2_000, 60_000] as const

/** For how long a connection is lost, and how often: short losses also come one after the other. */
function awayOf(random: Random) {
  const away = random.of(AWAY)
  return { for: away, times: away > 100 ? 1 : random.of([1, 1, 20]) }
}
