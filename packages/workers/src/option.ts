/** The option `workers`: what it must be, and how many processes it stands for. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { UNDER_BUN } from './role.ts'

/** The number of processes that answer; `'auto'`: one for each processor this process may use. */
export type Workers = number | 'auto'

/** A larger number is taken for a mistake: each worker is a whole process. */
const MAX_WORKERS = 1024

/**
 * Whether connections to one port can be spread over processes. Bun has no way to hand them over, and only Linux
 * spreads them by itself.
 */
const CAN_SPREAD = !UNDER_BUN || process.platform === 'linux'

/** @throws {OptionError} it is no such number, or this runtime and system cannot do it */
export function checkWorkers(workers: Workers | undefined): void {
  if (workers === undefined) return
  const isCount = Number.isInteger(workers) && (workers as number) >= 1 && (workers as number) <= MAX_WORKERS
  if (workers !== 'auto' && !isCount)
    throw OptionError.expected(
      'options.workers',
      `a whole number from 1 to ${MAX_WORKERS}, or 'auto'`,
      workers
    )
  if (!CAN_SPREAD && workers !== 'auto' && workers > 1) {
    throw new OptionError(
      'options.workers',
      `options.workers can only be 1 or 'auto' here: under Bun, only Linux spreads connections over processes, and this is ${process.platform}; Node does it everywhere`
    )
  }
}

/** The number of processes. */
export async function countOf(workers: Workers): Promise<number> {
  if (workers !== 'auto') return workers
  if (!CAN_SPREAD) return 1
  const { availableParallelism } = await import('node:os')
  return availableParallelism()
}
