/** The options for rates and load processes, which both commands share. */
import { UsageError } from '../errors.ts'
import type { ClientName } from '../peers/clients.ts'
import { integer, milliseconds, toggle } from './flags.ts'

export const loadFlags = {
  rate: integer(
    1,
    10_000_000,
    'requests per second, sent when they are due whatever happens (open loop); default as many as are answered'
  ),
  'find-capacity': toggle(
    'look for the highest rate whose p99 is under --slo; --rate is where to begin, default 1000'
  ),
  slo: milliseconds(0.001, 600_000, 'with --find-capacity: the p99 to keep, in milliseconds; default 5'),
  processes: integer(1, 64, 'load processes, among which the work is divided; default 1')
}

export interface LoadOptions {
  /** Requests per second; `null`: a closed loop. With `sloMs`, the first rate to try. */
  readonly rate: number | null
  /** The p99 in milliseconds that the server must keep at the highest rate to be found; `null`: no search. */
  readonly sloMs: number | null
  readonly processes: number
}

interface Given {
  readonly rate: number | undefined
  readonly 'find-capacity': boolean | undefined
  readonly slo: number | undefined
  readonly processes: number | undefined
}

const FIRST_RATE = 1000
const SLO = 5

/** @throws UsageError if a flag is given without the flag that it depends on */
export function readLoad(given: Given): LoadOptions {
  const finds = given['find-capacity'] ?? false
  if (!finds && given.slo !== undefined) {
    throw new UsageError(`--slo: got '${given.slo}' without --find-capacity`)
  }
  return {
    rate: given.rate ?? (finds ? FIRST_RATE : null),
    sloMs: finds ? (given.slo ?? SLO) : null,
    processes: given.processes ?? 1
  }
}

/** @throws UsageError if there is too little to divide, or the client does not support it */
export function checkLoad(
  client: ClientName,
  { rate, processes }: LoadOptions,
  counts: { readonly concurrency: number; readonly connections?: number }
): void {
  if (rate !== null && client === 'raw') {
    throw new UsageError('--rate: the raw client sends as fast as it is answered, expected another client')
  }
  for (const [name, count] of Object.entries(counts)) {
    if (count >= processes) continue
    throw new UsageError(
      `--${name}: got '${count}', expected one or more for each of the ${processes} processes`
    )
  }
}
