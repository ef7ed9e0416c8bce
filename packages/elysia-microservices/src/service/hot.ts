/**
 * Services under `bun --hot`, which evaluates all modules again in the process that runs, this one too, and leaves
 * running what the ones before have started. Elysia's HTTP server takes the new handlers by itself; services of the
 * evaluation before give way here to those that start now.
 */

/** A service that runs. */
interface Running {
  /** The evaluation of this module that it belongs to. */
  readonly evaluation: object
  /** Stops it. Resolves when what it listens on is free; what is in flight ends in its time. */
  readonly giveWay: () => Promise<void>
}

const isHot = typeof Bun !== 'undefined' && process.execArgv.includes('--hot')
const evaluation = {}
const KEY = Symbol.for('elysia-microservices.running')
let cleared: Promise<unknown> | undefined

/** Resolves when services of earlier evaluations have given way. */
export async function clearEarlier(): Promise<void> {
  if (!isHot) return
  const earlier = [...running()].filter((service) => service.evaluation !== evaluation)
  cleared ??= Promise.all(earlier.map(({ giveWay }) => giveWay()))
  await cleared
}

/** Remembers a service that is started, for the evaluation to come. Returns what forgets it. */
export function remember(giveWay: () => Promise<void>): () => void {
  if (!isHot) return () => {}
  const service: Running = { evaluation, giveWay }
  running().add(service)
  return () => void running().delete(service)
}

/** Outlives evaluations, for each copy of this file that a program has. */
function running(): Set<Running> {
  const process = globalThis as { [KEY]?: Map<string, Set<Running>> }
  process[KEY] ??= new Map()
  const copies = process[KEY]
  const known = copies.get(import.meta.url)
  if (known !== undefined) return known
  const services = new Set<Running>()
  copies.set(import.meta.url, services)
  return services
}
