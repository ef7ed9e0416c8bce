/** Says on stderr which of many measurements begins, how long the rest will take, and what has come out. */
import { isMeasured, type Outcome } from './comparison.ts'
import { format, plural } from './figures.ts'

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

  /** What the progress line calls the measurement that has begun. */
  get label(): string {
    return `  run ${this.#begun} of ${this.#total}`
  }

  /** Call when a measurement is over. */
  report(outcome: Outcome): void {
    process.stderr.write(`  ${describeOutcome(outcome)}\n`)
  }

  /** Call when a measurement begins, and so the one before is over. */
  announce(name: string): void {
    const done = this.#begun++
    const each = done === 0 ? this.#expected : (performance.now() - this.#startedAt) / 1000 / done
    const left = Math.ceil(each * (this.#total - done))
    process.stderr.write(`run ${this.#begun} of ${this.#total}: ${name} (${describeSeconds(left)} left)\n`)
  }
}

/** What a measurement has found, in a line: `elysia  575,120 req/s  p99 0.578 ms`. */
export function describeOutcome(outcome: Outcome): string {
  const { target } = outcome
  if (!isMeasured(outcome)) return `${target}  not measured`
  const { rps, p99, errors } = outcome
  const parts = [
    target,
    `${format('rps', rps)} req/s`,
    `p99 ${format('p99', p99 ?? undefined)} ms`,
    ...(errors > 0 ? [plural(errors, 'error')] : [])
  ]
  return parts.join('  ')
}

/** 95 → `1 min 35 s` */
export function describeSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`
}
