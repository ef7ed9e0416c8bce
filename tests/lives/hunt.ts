/** Looks for lives that break a promise, and makes them small. */

import { CARRIERS, storeOf } from './carriers.ts'
import { KEPT } from './kept.ts'
import { live, type Verdict } from './live.ts'
import { type Plan, planOf, type Wishes } from './plan.ts'
import { shrunk } from './shrink.ts'
import { watched } from './watch.ts'
import type { World } from './world.ts'

/** Orders in which a plan is lived again: what is due at the same moment may happen in any. */
const ORDERS = 10

/** Of so many lives, one is lived twice. */
const TWICE = 25

interface Hunt extends Wishes {
  readonly from: number
  readonly lives: number
  /** Milliseconds after which it ends, without those for loading all that is needed. */
  readonly most: number
  /** The real time, in milliseconds. */
  clock(): number
  readonly hashes: boolean
  /** Whether the first life that breaks a promise ends the hunt, and is not made small. */
  readonly isFirstEnough: boolean
  print(line: string): void
}

/** Lives many seeds. @returns how many of them have broken a promise */
export async function hunt(world: World, options: Hunt): Promise<number> {
  const { from, lives, most, clock, print } = options
  const begins = watched()
  await warmUp(world, options)
  let found = 0
  let turns = 0
  let steps = 0
  let lived = 0
  const since = clock()
  const began = process.cpuUsage()
  const told = () => {
    const { user, system } = process.cpuUsage(began)
    const times = `${Math.round((clock() - since) / 1_000)} s, ${Math.round((user + system) / 1e6)} s of computing`
    return `${lived} lives, ${steps} steps, ${turns} turns, ${found} found, ${times}`
  }
  const kinds = new Map<string, number>()
  for (let seed = from; seed < from + lives && clock() - since < most; seed++) {
    const plan = planOf(seed, options)
    begins(seed)
    const verdict = await live(world, plan, seed)
    // Now and then a life is lived twice, because without that nobody could look into one that breaks a promise.
    if (++lived % TWICE === 0 && (await live(world, plan, seed)).hash !== verdict.hash) {
      found++
      print(`seed ${seed} was not the same life twice`)
    }
    turns += verdict.turns
    steps += plan.steps.length
    if (options.hashes) print(`${seed} ${verdict.hash}`)
    if (verdict.broken.length > 0) {
      found++
      const kind = kindOf(verdict)
      const times = (kinds.get(kind) ?? 0) + 1
      kinds.set(kind, times)
      if (options.isFirstEnough) {
        print(`seed ${seed}: ${verdict.broken[0]}`)
        break
      }
      // The first of its kind tells enough, and making it small takes long.
      if (times === 1) await report(world, plan, seed, verdict, print, begins)
      else if (times <= 3) print(`seed ${seed}: ${kind}`)
    }
    if (lived % 100 === 0) print(told())
  }
  print(told())
  for (const [kind, times] of kinds) print(`${times} x ${kind}`)
  return found
}

/** The first broken promise without its numbers: lives that break the same one have probably the same cause. */
function kindOf({ broken }: Verdict): string {
  return (broken[0] as string).slice(0, 120).replace(/\d+/g, 'n')
}

/** Lives one seed twice. @returns 0 if it has kept all promises */
export async function replay(
  world: World,
  seed: number,
  options: Wishes & { print(line: string): void }
): Promise<number> {
  const { print } = options
  await warmUp(world, options)
  const plan = planOf(seed, options)
  const first = await live(world, plan, seed)
  const second = await live(world, plan, seed)
  if (first.hash !== second.hash) print(`not the same twice: ${first.hash}, ${second.hash}`)
  print(
    `${plan.steps.length} steps, ${first.turns} turns, ${Math.round(first.time)} ms, ${first.calls} calls`
  )
  if (first.broken.length === 0) return first.hash === second.hash ? 0 : 1
  await report(world, plan, seed, first, print)
  return 1
}

/**
 * Lives the plans that once broke a promise, each with several orders.
 * @param hasDatabase whether PostgreSQL is open, so that its lives can be lived, too
 * @param wishes those of the new lives that follow: what is loaded for them is loaded once
 * @returns how many still do
 */
export async function relive(
  world: World,
  hasDatabase: boolean,
  { stores, beside }: Wishes,
  print: (line: string) => void
): Promise<number> {
  const kept = KEPT.filter(({ plan }) => hasDatabase || storeOf(plan.config) !== 'postgres')
  await warmUp(world, {
    carriers: [...new Set(kept.map(({ plan }) => plan.config.carrier))],
    ...{ stores, beside }
  })
  let found = 0
  for (const { fault, plan, seed } of kept)
    for (let order = seed; order < seed + ORDERS; order++) {
      const { broken } = await live(world, plan, order)
      if (broken.length === 0) continue
      found++
      print(`${fault} (order ${order}): ${broken.join('; ')}`)
    }
  print(`${kept.length} of ${KEPT.length} lives kept, ${found} found`)
  return found
}

async function report(
  world: World,
  plan: Plan,
  seed: number,
  verdict: Verdict,
  print: (line: string) => void,
  begins: (seed: number) => void = () => {}
): Promise<void> {
  print(`seed ${seed} (${plan.config.carrier}, ${plan.steps.length} steps) breaks:`)
  for (const promise of verdict.broken.slice(0, 5)) print(`  ${promise}`)
  const small = await shrunk(plan, async (smaller) => {
    begins(seed)
    const { broken } = await live(world, smaller, seed)
    return broken.length > 0
  })
  const again = await live(world, small, seed)
  print(`  shrunk to ${small.steps.length} steps: ${JSON.stringify(small)}`)
  for (const promise of again.broken.slice(0, 3)) print(`  then: ${promise}`)
  for (const line of again.log.slice(0, 5)) print(`  log: ${line.slice(0, 400)}`)
}

/** Carriers that were lived over. */
const warm = new Set<string>()

/** Modules that are loaded when they are first needed take time that is none of the world's: that of rules at once. */
async function warmUp(world: World, { carriers = CARRIERS, stores, beside }: Wishes): Promise<void> {
  await import('croner')
  for (const carrier of carriers) {
    if (warm.has(carrier)) continue
    warm.add(carrier)
    for (let seed = 1; seed <= 3; seed++)
      await live(world, planOf(seed, { carriers: [carrier], stores, beside }), seed)
  }
}
