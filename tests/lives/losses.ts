/** Which promises a life keeps follows from its steps: whether anything is lost in it, and what. */
import { isCall } from './calls.ts'
import { type CarrierName, ENGINES, RSOCKETS, storeOf, TELL_AGES, WITHIN } from './carriers.ts'
import type { Allowed } from './entries.ts'
import { PATIENCE } from './faults.ts'
import type { Plan, Step } from './plan.ts'

/** Requests in flight of a connection to a door that has no other limit. */
const DOOR = 64

/**
 * Whether no call may fail in a life, except that it may take longer than its time if a process stands still for a
 * moment. An engine's server needs dozens of turns for a call.
 */
export function isCalm({ config, steps }: Plan): boolean {
  const { carrier, delay, inFlight, inFlightPerConnection, timeout } = config
  const least = 2_000 + (ENGINES.has(carrier) ? 50 * delay : 0)
  const calls = steps.reduce((sum, step) => sum + (step.do === 'request' ? step.times : 1), 0)
  const isUnlimited = inFlight + inFlightPerConnection === 0 && (carrier !== 'websocket' || calls <= DOOR)
  const stalls = steps.flatMap((step) => (step.do === 'stall' ? step : []))
  // A client that has not connected yet gives up sooner.
  const isPatient = stalls.every((step) => step.end === 'service' && step.for <= PATIENCE)
  const isAlone = steps.every((step) => isCall(step) || step.do === 'stall')
  return isUnlimited && (timeout === 0 || timeout >= least) && stalls.length <= 1 && isPatient && isAlone
}

/** Steps by which a store, or its process, is lost. */
export const LOSING_STORES = new Set<Step['do']>(['away', 'still', 'stall', 'lose', 'die', 'kill'])

/** Steps after which an event may be lost although its connection is resumed. */
const LOSING = new Set<Step['do']>(['restart', 'deploy', 'close', 'stranger', 'freeze'])

/** Milliseconds after which an event whose process has ended comes to another one: Kafka waits 45 s for signs of life. */
const AFTER_CRASH = 55_000

/** Milliseconds that a service which stops gives its handlers. */
const DRAIN = 10_000

/** Whether the steps have one of these kinds. */
export function has({ steps }: Plan, ...kinds: readonly Step['do'][]): boolean {
  return steps.some((step) => kinds.includes(step.do))
}

/** Whether stored events may be handled twice: their store, or its process, was lost. */
export function mayRepeat(plan: Plan): boolean {
  const store = storeOf(plan.config)
  // A service that stops waits no longer for its handlers.
  if (plan.steps.some((step) => step.do === 'publish' && step.takes >= DRAIN)) return true
  if (store === 'memory' || store === 'mqtt') return false
  if (store === 'sqlite') return has(plan, 'die')
  return has(plan, ...LOSING_STORES) || timeOfCrashes(plan) > 0
}

/** Milliseconds in which processes end because of an event that they handle. */
export function timeOfCrashes({ steps }: Plan): number {
  const all = steps.map((step) =>
    step.do === 'publish' && step.failing === 'crash' ? step.failures * step.times : 0
  )
  return AFTER_CRASH * all.reduce((sum, crashes) => sum + crashes, 0)
}

/** Whether emitted events may not be lost, although connections are. */
export function isPromisedToArrive(plan: Plan): boolean {
  const { carrier, resume } = plan.config
  return (carrier === 'rsocket' || carrier === 'websocket') && resume && !has(plan, ...LOSING)
}

/** All that has happened in a life and is not in its plan. */
export interface Happened {
  /** Whether a service was away, so that events missed it, and whether at some time no process of it ran. */
  readonly hasGap: boolean
  readonly wasDeserted: boolean
  /** Whether something was lost on purpose, and whether the wall clock has jumped. */
  readonly hasLoss: boolean
  readonly hasHop: boolean
}

/** The deviations from the promises that a life may have. @param isSteady whether nothing has kept events from their handlers */
export function allowedIn(plan: Plan, happened: Happened & { readonly isSteady: boolean }): Allowed {
  const { hasGap, wasDeserted, hasLoss, hasHop, isSteady } = happened
  const { config } = plan
  const store = storeOf(config)
  // Within a process an event is lost only if one of two names is away, and the other one hears it.
  const mayMiss = (hasGap || hasLoss) && (!WITHIN.has(config.carrier) || config.hasOther || has(plan, 'die'))
  const isFull = config.maxBytes !== undefined
  return {
    // Only RSocket tells a sender later that a full store has refused its event.
    mayLose: (mayMiss && !isPromisedToArrive(plan)) || (isFull && !RSOCKETS.has(config.carrier)),
    mayCountMore: hasGap && store === 'nats',
    // Over NATS a process that changes a group's settings may overwrite what another one notes at that moment.
    mayCountLess:
      config.ordered && ((store === 'nats' && has(plan, 'deploy')) || (hasGap && store === 'rabbitmq')),
    // Kafka keeps no number of deliveries.
    mayBeEndless: store === 'kafka',
    // Over Redis, processes that begin at one moment do not know of each other (docs/redis.md).
    mayDouble: (wasDeserted && config.carrier === 'redis') || (hasLoss && ENGINES.has(config.carrier)),
    mayRepeat: mayRepeat(plan),
    mayBeLate: hasLoss || hasHop,
    ages: {
      isSteady,
      hasLoss: hasLoss || hasHop,
      tellsAll: TELL_AGES.has(store as CarrierName),
      isLate: config.isLate === true
    }
  }
}
