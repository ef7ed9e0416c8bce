/** Plans of lives, as data: a configuration, and steps that happen at their times. A seed makes a plan. */
import { HEAVY, OFTEN, type Often, SELDOM, sizesOf, timesOf, valuesOf } from './amounts.ts'
import {
  AGES,
  BESIDE,
  CARRIERS,
  type CarrierName,
  FUTURES,
  REDRIVES,
  RSOCKETS,
  SOCKETS,
  type StoreName,
  storeOf,
  TRANSACTIONAL,
  WITHIN
} from './carriers.ts'
import { actsOf, canBeLost, lossesOf, stallOf } from './faults.ts'
import { loadOf } from './load.ts'
import { Random } from './random.ts'

export interface Config {
  readonly carrier: CarrierName
  /** Keeps the events in place of the carrier. */
  readonly store?: StoreName | undefined
  readonly clients: number
  /** Services of the same name, which share the messages; over sockets each has a port. */
  readonly services: number
  /** Whether a service of another name handles the same events, and shares the requests. */
  readonly hasOther: boolean
  /** Whether that one begins later, and gets the events that were stored before. */
  readonly isLate?: boolean
  /** Whether it then gets only what is stored from its beginning on. */
  readonly startsNew?: boolean
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
  /** When the life begins, in milliseconds since 1970, if its clocks are changed from or to summer time. */
  readonly begins?: number | undefined
  /** Bytes of events that a store beside a transport keeps. Default: no limit */
  readonly maxBytes?: number | undefined
  /** Milliseconds for which the store keeps events, and their ids. Default: longer than a life */
  readonly maxAge?: number | undefined
  /** Whether the handlers of one pattern acknowledge in transactions, if the store can. */
  readonly transactional?: boolean
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
/** How the handler of a durable event fails: with an error, by asking for a later delivery, or with its process. */
export type Failing = 'error' | 'later' | 'crash'
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
      /** `kept` and `filed` have durable handlers only. Default: `noted`, which has a plain one. */
      readonly to?: 'noted' | 'kept' | 'filed'
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
      /** Characters of the data, and of a header. Default: few */
      readonly size?: number
      readonly wide?: number
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
  /** Events of one key are published in a transaction of their publisher's own. */
  | {
      readonly do: 'transact'
      readonly client: number
      readonly to: readonly ('kept' | 'filed')[]
      readonly times: number
      readonly isRolledBack: boolean
    }
  /** An event that waits for its time is deleted. */
  | { readonly do: 'cancel'; readonly client: number }
  /** The process of one service ends at once, and another one begins after a time. */
  | { readonly do: 'kill'; readonly service: number; readonly for: number }
  /** The service of another name begins for the first time. */
  | { readonly do: 'arrive' }
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
  /** Between a client or a service and the engine's server nothing moves for a time: its process stands still, or its network. */
  | { readonly do: 'stall'; readonly end: 'client' | 'service'; readonly n: number; readonly for: number }
  /** Dead letters are given back to their group. */
  | { readonly do: 'redrive' }
  | { readonly do: 'pause'; readonly for: number; readonly times: number }
  /** The server of an engine is away, or stands still. */
  | { readonly do: 'away'; readonly for: number }
  | { readonly do: 'still'; readonly for: number }
  /** Messages that nobody stores are lost for a time, and no connection is. */
  | { readonly do: 'mute'; readonly for: number }
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
  /** Stores that may stand beside a carrier. Default: all. */
  readonly stores?: readonly StoreName[] | undefined
  /** The store that stands beside each carrier. Default: in a fifth of the lives, one of `stores`. */
  readonly beside?: StoreName | undefined
  /** The worst that may happen. Default: chosen by the seed. */
  readonly worst?: Worst | undefined
  /** Latest step, in milliseconds. Default: chosen by the seed. */
  readonly within?: number | undefined
}

/** Only calls; the acts of operators beside them, after which nothing may be lost; losses as well. */
export type Worst = 'calls' | 'acts' | 'losses'

/** Moments before which clocks in Berlin are set forward and back. */
const CHANGES = [Date.parse('2024-03-31T00:59:30Z'), Date.parse('2024-10-27T00:59:30Z')]

/** Milliseconds for which events are kept, if a life is longer. */
const MOST_AGES = [20_000, 45_000, 130_000] as const

/** The part of the lives with nothing but calls in which one process stands still for a moment. */
const STALLED = 0.3

/** Makes the plan of a seed. */
export function planOf(seed: number, wishes: Wishes = {}): Plan {
  const { carriers = CARRIERS, stores = BESIDE, worst, within } = wishes
  const random = new Random(seed)
  const carrier = random.of(carriers)
  const isSocket = SOCKETS.has(carrier)
  const isRSocket = RSOCKETS.has(carrier)
  const isLimited = isSocket && random.chance(0.5)
  const mayHaveStore = within === undefined && !WITHIN.has(carrier)
  const beside = mayHaveStore
    ? (wishes.beside ?? (random.chance(0.2) ? random.of(stores) : undefined))
    : undefined
  const store = storeOf({ carrier, store: beside })
  const hasFuture = within === undefined && FUTURES.has(store as CarrierName)
  // A full store is waited for, until the time of a call is over.
  const maxBytes = beside !== undefined && random.chance(0.2) ? random.of([1, 2_000, 20_000]) : undefined
  const isFull = maxBytes !== undefined
  const config: Config = {
    carrier,
    ...(beside && { store: beside }),
    clients: random.between(1, 3),
    services: carrier === 'websocket' ? 1 : random.between(1, 2),
    hasOther: !isSocket && random.chance(0.3),
    isLate: store !== undefined && within === undefined && random.chance(0.3),
    // Groups of RabbitMQ begin with what comes.
    startsNew: store === 'rabbitmq' || random.chance(0.5),
    connections: isSocket && random.chance(0.3) ? 2 : 1,
    delay: random.of([0, 1, 5, 30]),
    resume: isRSocket && random.chance(0.5),
    lease: isRSocket && random.chance(0.5),
    inFlight: isLimited && carrier !== 'websocket' && random.chance(0.5) ? random.between(2, 12) : 0,
    inFlightPerConnection: isLimited && random.chance(0.5) ? random.between(2, 12) : 0,
    timeout: random.of(isFull ? [500] : [0, 500, 2_000, 30_000]),
    ordered: random.chance(0.5),
    every: hasFuture && random.chance(0.3),
    begins: random.of([undefined, undefined, ...CHANGES]),
    maxBytes,
    transactional: TRANSACTIONAL.has(store as CarrierName) && random.chance(0.5),
    maxAge:
      within === undefined && AGES.has(store as CarrierName) && random.chance(0.3)
        ? random.of(MOST_AGES)
        : undefined
  }
  // In some lives everything happens within a short time, so that more of it meets.
  const latest = within ?? random.of([undefined, undefined, 500, 2_000])
  const least = worst ?? random.of(['calls', 'acts', 'losses', 'losses'] as const)
  const isHeavy = within !== undefined || random.chance(HEAVY)
  const kinds = { worst: least, within: latest, hasFuture, often: isHeavy ? OFTEN : SELDOM }
  const hasLoad = least !== 'calls' && within === undefined
  const steps = hasLoad ? [...loadOf(random, config, least === 'losses')] : []
  if (least === 'calls' && within === undefined && canBeLost(config) && random.chance(STALLED))
    steps.push(stallOf(random, config, random.between(0, 500)))
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
  const store = storeOf(config)
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
      ...(store !== undefined && { to: random.of(['noted', 'noted', 'kept', 'filed'] as const) }),
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
  if (store !== undefined) {
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
      failures: random.of([0, 0, 0, 0, 1, 2, REDRIVES.has(store) ? 5 : 2]),
      failing: random.of(['error', 'error', 'later'] as const),
      ...(random.chance(0.1) && { size: random.of([2_000, 40_000, 400_000]) }),
      ...(random.chance(0.05) && { wide: random.of([10_000, 70_000]) })
    })
    calls.push(publish, publish)
    if (hasFuture) calls.push(() => ({ at, do: 'cancel', client }))
    if (store === 'postgres')
      calls.push(() => ({
        at,
        do: 'transact',
        client,
        to: random.of([['kept'], ['filed'], ['kept', 'filed']] as const),
        times: random.of(often.published),
        isRolledBack: random.chance(0.3)
      }))
  }
  if (worst === 'calls' || random.chance(0.7)) return random.of(calls)()
  const acts = actsOf(random, config, at, client, often)
  const losses = worst === 'acts' ? [] : lossesOf(random, config, at, client, within !== undefined)
  return random.of([...acts, ...losses])()
}

/** The time of events; those that may be cancelled need a name. */
function timeOf(random: Random, hasFuture: boolean) {
  const delay = hasFuture ? random.of([0, 0, 0, 0, 0, 0, 5, 500, 60_000]) : 0
  return { delay, hasId: delay > 0 || random.chance(0.5) }
}
