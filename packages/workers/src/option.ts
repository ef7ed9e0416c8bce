/** The option `workers`: which values are valid, and how many processes each value means. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { UNDER_BUN } from './role.ts'

/** The number of processes that answer calls. `'auto'` means one for each processor that this process may use. */
export type Workers = number | 'auto'

/** A larger number is refused as a mistake, since each worker is a whole process. */
const MAX_WORKERS = 1024

/**
 * Whether connections to one port can be spread over processes. Under Bun a process cannot hand connections over to
 * another one, so the kernel has to spread connections, which only Linux does.
 */
const CAN_SPREAD = !UNDER_BUN || process.platform === 'linux'

/**
 * Checks the option `workers`. @throws {OptionError} the value is not a valid number, or this runtime and system
 * cannot spread connections
 */
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
      `options.workers can only be 1 or 'auto' here: under Bun, only Linux spreads connections over processes, and this system is ${process.platform}; Node spreads them on every system`
    )
  }
}

/** The number of processes that the option `workers` means on this machine. */
export async function countOf(workers: Workers): Promise<number> {
  if (workers !== 'auto') return workers
  if (!CAN_SPREAD) return 1
  const { availableParallelism } = await import('node:os')
  return availableParallelism()
}
