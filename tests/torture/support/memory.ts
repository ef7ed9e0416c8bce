/**
 * Reads the memory of other processes from Linux's /proc. On other systems, and for a process that has ended:
 * `undefined`.
 */
import { readFileSync } from 'node:fs'

/** The memory of a process that is in RAM now, in megabytes (MiB). */
export const residentMb = (pid: number | undefined): number | undefined => field(pid, 'VmRSS')

/** The peak of the memory of a process in RAM, in megabytes (MiB). */
export const peakMb = (pid: number | undefined): number | undefined => field(pid, 'VmHWM')

/** The memory at a time. */
export interface Sample {
  /** The time in minutes. */
  readonly at: number
  /** The memory in megabytes. */
  readonly mb: number
}

/** The growth in megabytes per minute, by least squares; `undefined` with fewer than three samples. */
export function slope(samples: readonly Sample[]): number | undefined {
  if (samples.length < 3) return undefined
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const at = mean(samples.map((sample) => sample.at))
  const mb = mean(samples.map((sample) => sample.mb))
  const covariance = mean(samples.map((sample) => (sample.at - at) * (sample.mb - mb)))
  return covariance / mean(samples.map((sample) => (sample.at - at) ** 2))
}

/** The highest of several values; missing ones are ignored. */
export function highest(...figures: readonly (number | undefined)[]): number | undefined {
  const known = figures.filter((figure) => figure !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** The peak memory of a process in the first tenth of the time, and later. */
export class Peaks {
  #first: number | undefined
  #later: number | undefined

  /** @param part the elapsed part of the time, from 0 to 1 */
  add(part: number, mb: number | undefined): void {
    if (part < 0.1) this.#first = highest(this.#first, mb)
    else this.#later = highest(this.#later, mb)
  }

  /** The peak over the whole time. */
  get most(): number | undefined {
    return highest(this.#first, this.#later)
  }

  /** The megabytes by which the later peak is higher. */
  get growth(): number {
    return (this.#later ?? 0) - (this.#first ?? 0)
  }

  toString(): string {
    return `${Math.round(this.#first ?? 0)} MB at most in the first tenth, ${Math.round(this.#later ?? 0)} MB later`
  }
}

function field(pid: number | undefined, name: string): number | undefined {
  if (pid === undefined) return undefined
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kibibytes = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024
  } catch {
    return undefined
  }
}
