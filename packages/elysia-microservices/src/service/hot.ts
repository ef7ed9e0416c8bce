/**
 * Stops services of an earlier evaluation under `bun --hot`. After a change Bun evaluates all modules again in the
 * same process, including this one, and does not end what the earlier modules have started. Elysia's HTTP server
 * takes the new handlers by itself, but a service of the earlier evaluation has to stop before the new one can
 * listen.
 */

/** A running service. */
interface Running {
  /** Identifies the evaluation of this module in which the service was started. */
  readonly evaluation: object
  /** Stops the service. Resolves when its ports are free; work in flight may go on for `drain` milliseconds. */
  readonly giveWay: () => Promise<void>
}

const isHot = typeof Bun !== 'undefined' && process.execArgv.includes('--hot')
const evaluation = {}
const KEY = Symbol.for('elysia-microservices.running')
let cleared: Promise<unknown> | undefined

/** Stops the services of earlier evaluations. Resolves when their ports are free. */
export async function clearEarlier(): Promise<void> {
  if (!isHot) return
  const earlier = [...running()].filter((service) => service.evaluation !== evaluation)
  cleared ??= Promise.all(earlier.map(({ giveWay }) => giveWay()))
  await cleared
}

/**
 * Registers a started service, so that the next evaluation can stop it. Returns the function that removes the
 * service again.
 */
export function remember(giveWay: () => Promise<void>): () => void {
  if (!isHot) return () => {}
  const service: Running = { evaluation, giveWay }
  running().add(service)
  return () => void running().delete(service)
}

/**
 * The running services. The set is kept in `globalThis`, so it outlives an evaluation; each copy of this file in a
 * program has a set of its own.
 */
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
