/** The option `workers`: what it must be, and how many processes it stands for. */
import { ValidationError } from '@elysia-microservices/transport'
import { UNDER_BUN } from './role.ts'

/** How many processes answer: so many, or one for each processor this process may use. */
export type Workers = number | 'auto'

/** Beyond it a figure is a mistake: each worker is a whole process. */
const MAX_WORKERS = 1024

/**
 * Whether connections to one port can be spread over processes. Bun has no way to hand them over, and only Linux
 * spreads them by itself.
 */
const CAN_SPREAD = !UNDER_BUN || process.platform === 'linux'

/** @throws {ValidationError} it is no such figure, or cannot be had here */
export function checkWorkers(workers: Workers | undefined, path: string | undefined): void {
  if (workers === undefined) return
  const isCount = Number.isInteger(workers) && (workers as number) >= 1 && (workers as number) <= MAX_WORKERS
  if (workers !== 'auto' && !isCount)
    throw new ValidationError(
      'options.workers',
      `a whole number from 1 to ${MAX_WORKERS}, or 'auto'`,
      workers
    )
  if (path !== undefined)
    throw new ValidationError(
      'options.workers',
      'left out with path: one process owns a Unix socket',
      workers
    )
  if (!CAN_SPREAD && workers !== 'auto' && workers > 1) {
    const expected = `1 or 'auto': under Bun, only Linux spreads connections (this is ${process.platform}); Node does everywhere`
    throw new ValidationError('options.workers', expected, workers)
  }
}

/** The number of processes. */
export async function countOf(workers: Workers): Promise<number> {
  if (workers !== 'auto') return workers
  if (!CAN_SPREAD) return 1
  const { availableParallelism } = await import('node:os')
  return availableParallelism()
}
