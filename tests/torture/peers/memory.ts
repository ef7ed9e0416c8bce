/** The memory of a process. */
import { readFileSync } from 'node:fs'

/** Resident set, in megabytes. */
export interface Memory {
  readonly rssMb: number
  /** The most since the process began, as far as the system tells. */
  readonly peakRssMb: number
}

/** Of this process. Linux keeps the peak; elsewhere it is the figure of now. */
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
