/** Says on stderr which of many measurements begins and how long the rest will take. */

/** Seconds a measurement takes beside warm-up and measuring, until one has shown what it really is. */
const ASSUMED_OVERHEAD = 1

export class Schedule {
  readonly #total: number
  readonly #expected: number
  readonly #startedAt = performance.now()
  #begun = 0

  constructor(total: number, { duration, warmup }: { duration: number; warmup: number }) {
    this.#total = total
    this.#expected = duration + warmup + ASSUMED_OVERHEAD
  }

  /** Call when a measurement begins, and so the one before is over. */
  announce(name: string): void {
    const done = this.#begun++
    const each = done === 0 ? this.#expected : (performance.now() - this.#startedAt) / 1000 / done
    const left = Math.ceil(each * (this.#total - done))
    process.stderr.write(`run ${this.#begun} of ${this.#total}: ${name} (${describeSeconds(left)} left)\n`)
  }
}

/** 95 → `1 min 35 s` */
export function describeSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`
}
