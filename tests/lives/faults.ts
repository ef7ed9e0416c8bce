/** All that goes on beside calls: acts of operators, and faults of networks, servers and clocks. */
import type { Often } from './amounts.ts'
import { ENGINES, MUTES, REDRIVES, SOCKETS, storeOf } from './carriers.ts'
import type { Config, Step } from './plan.ts'
import type { Random } from './random.ts'
import { bytesOf } from './stranger.ts'

/** Whether there is a server, of an engine or a database, that can be lost. */
export const canBeLost = (config: Config) => ENGINES.has(config.carrier) || storeOf(config) === 'postgres'

/** Acts of operators, after which nothing that was stored may be lost, or run twice. */
export function actsOf(
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
  const store = storeOf(config)
  if (store !== undefined)
    acts.push(
      () => ({
        at,
        do: 'pause',
        ...pauseOf(random, often)
      }),
      () => (REDRIVES.has(store) ? { at, do: 'redrive' } : { at, do: 'pause', for: 1, times: 1 })
    )
  acts.push(() => ({ at, do: 'close', client }))
  if (config.hasOther && config.isLate) acts.push(() => ({ at, do: 'arrive' }))
  return acts
}

/** A long pause comes once. */
function pauseOf(random: Random, often: Often) {
  const pause = random.between(1, random.of([2_000, 2_000, 60_000]))
  return { for: pause, times: pause > 2_000 ? 1 : random.of(often.pause) }
}

/** Faults of networks, servers and clocks. */
export function lossesOf(
  random: Random,
  config: Config,
  at: number,
  client: number,
  isReal: boolean
): readonly (() => Step)[] {
  const losses: (() => Step)[] = [
    () => ({
      at,
      do: 'hop',
      by: random.of(config.carrier === 'kafka' ? [-5_000, 5_000] : [-3_600_000, 3_600_000])
    })
  ]
  if (config.carrier === 'sqlite' || config.carrier === 'postgres') losses.push(() => ({ at, do: 'die' }))
  if (canBeLost(config) && !SOCKETS.has(config.carrier) && config.store !== 'sqlite' && !isReal)
    losses.push(() => ({
      at,
      do: 'kill',
      service: random.between(0, config.services - 1),
      for: random.of([0, 500, 10_000])
    }))
  if (canBeLost(config))
    losses.push(
      () => ({ at, do: 'away', for: random.between(1, 3_000) }),
      () => ({ at, do: 'still', for: random.between(1, 3_000) }),
      () => ({ at, do: 'lose', end: 'client', n: client, ...awayOf(random) }),
      () => ({ at, do: 'lose', end: 'service', n: random.between(0, config.services - 1), ...awayOf(random) })
    )
  if (canBeLost(config) && !isReal)
    losses.push(() => ({ ...stallOf(random, config, at), for: random.of(stallsOf(config)) }))
  if (MUTES.has(config.carrier) && !isReal)
    losses.push(() => ({ at, do: 'mute', for: random.of([1, 20, 200, 10_000]) }))
  if (SOCKETS.has(config.carrier))
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

/** Milliseconds for which a process may stand still, and fails no call: after 20 s of silence it counts as gone. */
export const PATIENCE = 15_000

/** PostgreSQL runs one transaction after the other here, so one that stands still keeps all others waiting. */
const stallsOf = (config: Config): readonly number[] =>
  storeOf(config) === 'postgres' ? [100, 2_000] : [100, 2_000, PATIENCE, 60_000]

/** One end stands still for a moment. */
export function stallOf(random: Random, config: Config, at: number): Step & { do: 'stall' } {
  const end = random.of(['client', 'service', 'service'] as const)
  const n = random.between(0, (end === 'client' ? config.clients : config.services) - 1)
  return { at, do: 'stall', end, n, for: storeOf(config) === 'postgres' ? 2_000 : PATIENCE }
}

/** Milliseconds for which the connection of one end is lost: also longer than signs of life are waited for. */
const AWAY = [0, 1, 100, 2_000, 2_000, 60_000] as const

/** For how long a connection is lost, and how often: short losses also come one after the other. */
function awayOf(random: Random) {
  const away = random.of(AWAY)
  return { for: away, times: away > 100 ? 1 : random.of([1, 1, 20]) }
}
