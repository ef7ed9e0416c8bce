/** The memory of a process. */
import { readFileSync } from 'node:fs'

/** The resident set of a process, in megabytes. */
export interface Memory {
  readonly rssMb: number
  /** The peak since the process began, if the system reports it. */
  readonly peakRssMb: number
}

/** The memory of this process. Linux keeps the peak; elsewhere it is the current value. */
export function memory(): Memory {
  const rssMb = Math.round(process.memoryUsage().rss / 1e6)
  return { rssMb, peakRssMb: Math.max(rssMb, highWater()) }
}

function highWater(): number {
  try {
    const status = readFileSync('/proc/self/status', 'utf8')
    return Math.round((Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024) / 1e6)
  } catch {
    return 0
  }
}
