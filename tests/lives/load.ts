/** Steps that belong together: what goes on while something is lost, again and again, or begins. */
import { isShort } from './ages.ts'
import { type CarrierName, ENGINES, REDRIVES, SOCKETS, storeOf } from './carriers.ts'
import { canBeLost } from './faults.ts'
import type { Config, Step } from './plan.ts'
import type { Random } from './random.ts'

/** The part of the lives that have such steps, if they may have any. */
const PART = 0.2

/** @param mayLose whether something may be lost in this life */
export function loadOf(random: Random, config: Config, mayLose: boolean): readonly Step[] {
  const loads: (() => readonly Step[])[] = []
  if (mayLose && canBeLost(config)) loads.push(() => publishersOf(random))
  if (mayLose && ENGINES.has(config.carrier)) loads.push(() => channelsOf(random))
  if (mayLose && canBeLost(config) && !SOCKETS.has(config.carrier) && config.store !== 'sqlite') {
    loads.push(() => crashesOf(config))
    // A store in the process itself delivers nothing again.
    if (storeOf(config) !== 'mqtt') loads.push(() => poisonOf(random, config))
  }
  if (config.hasOther && config.isLate && random.chance(0.5)) return arrivalOf(config)
  if (config.maxAge !== undefined && random.chance(0.5)) return agingOf(random, config, config.maxAge)
  return loads.length > 0 && random.chance(PART) ? random.of(loads)() : []
}

const EVENTS = {
  client: 0,
  keys: 3,
  delay: 0,
  takes: 0,
  failures: 0,
  failing: 'error',
  hasId: false
} as const

/** Publishers that go on while the connection of their client is lost again and again. */
function publishersOf(random: Random): readonly Step[] {
  const publishers = [0, 1, 2, 3].map((at): Step => {
    const pace = at < 2 ? 'in turn' : 'steadily'
    return { at, do: 'publish', to: [at % 2 === 0 ? 'kept' : 'filed'], pace, times: 100, ...EVENTS }
  })
  return [...publishers, { at: random.between(5, 60), do: 'lose', end: 'client', n: 0, for: 0, times: 20 }]
}

/** Channels whose values go on while one end loses its connection for a moment, again and again. */
function channelsOf(random: Random): readonly Step[] {
  const channels = [0, 1, 2, 3].map((at): Step => {
    const [to, pause] = [random.of(['total', 'relay'] as const), random.of([0, 1, 5])]
    return { at, do: 'channel', client: 0, to, values: 200, pause, size: 0 }
  })
  const end = random.of(['client', 'service', 'service'] as const)
  const lose = { end, n: 0, for: random.of([0, 1, 5]), times: 20 } as const
  return [...channels, { at: random.between(5, 60), do: 'lose', ...lose }]
}

/** Milliseconds after which an event of a process that has died comes to another one. */
const ACK_WAIT = 31_000

/** An event that ends its process each time it is handled, with others of its key behind it. */
function crashesOf({ services }: Config): readonly Step[] {
  const events: Step = { at: 0, do: 'publish', to: ['kept'], pace: 'at once', times: 4, ...EVENTS }
  const steps: Step[] = [{ ...events, keys: 1, takes: 5_000 }]
  for (let time = 0; time < 4; time++)
    for (let service = 0; service < services; service++)
      steps.push({ at: 1_000 + time * ACK_WAIT, do: 'kill', service, for: 500 })
  return steps
}

/** An event that ends its process whenever it runs, with others of its key behind it. */
function poisonOf(random: Random, config: Config): readonly Step[] {
  const events = { do: 'publish', pace: 'at once', ...EVENTS, to: ['kept'], keys: 1 } as const
  // Without a list of dead letters nobody could give it back.
  const failures = random.of(REDRIVES.has(storeOf(config) as CarrierName) ? [2, 5, 30] : [2, 5])
  return [
    { at: 0, ...events, times: 1, failures, failing: 'crash' },
    { at: 1, ...events, times: 3 },
    { at: random.between(1, 60_000), ...events, times: 3 }
  ]
}

/** A service of another name begins while events wait for the first one, which is away. */
function arrivalOf({ services }: Config): readonly Step[] {
  const publish = { do: 'publish', to: ['kept', 'filed'], pace: 'at once', times: 4, ...EVENTS } as const
  const away = Array.from({ length: services }, (_, service): Step => {
    return { at: 100, do: 'restart', service, for: 3_000, times: 1 }
  })
  return [{ at: 0, ...publish }, ...away, { at: 1_000, ...publish }, { at: 1_500, do: 'arrive' }]
}

/**
 * Events that become too old while their group is paused, or its processes are away, and others that do not; one of
 * them runs for as long.
 */
function agingOf(random: Random, { services }: Config, maxAge: number): readonly Step[] {
  const publish = { do: 'publish', to: ['kept', 'filed'], pace: 'at once', times: 4, ...EVENTS } as const
  const away = Math.max(0, maxAge + random.of([-5_000, 5_000, 40_000]))
  const held: readonly Step[] = random.chance(0.5)
    ? [{ at: 2_000, do: 'pause', for: away, times: 1 }]
    : Array.from(
        { length: services },
        (_, service): Step => ({
          at: 2_000,
          do: 'restart',
          service,
          for: away,
          times: 1
        })
      )
  const runs: Step = { at: 0, ...publish, times: 1, takes: maxAge + 35_000, failures: random.of([0, 0, 1]) }
  const times = [1, 2_500, 10_000, 1_000 + away, 3_000 + away]
  return [
    ...(isShort(maxAge) && random.chance(0.3) ? [runs] : []),
    ...held,
    ...times.map((at): Step => ({ at, ...publish }))
  ]
}
