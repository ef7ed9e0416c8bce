/** Prints on stderr which measurement begins, how long the rest will take, and what the result is. */
import { taskOf } from '../task/task.ts'
import { isMeasured, type Outcome } from './comparison.ts'
import { format, plural, titleOfFigure } from './figures.ts'
import type { Measurement } from './schema.ts'

/** Seconds that a measurement is assumed to take besides warm-up and measuring, until the real time is known. */
const ASSUMED_OVERHEAD = 1

export interface Planned {
  readonly duration: number
  readonly warmup: number
}

export class Schedule {
  readonly #planned: readonly Planned[]
  readonly #startedAt = performance.now()
  #begun = 0

  /** @param planned all measurements, in their order */
  constructor(planned: readonly Planned[]) {
    this.#planned = planned
  }

  /** The name of the current measurement in the progress line. */
  get label(): string {
    return `  run ${this.#begun} of ${this.#planned.length}`
  }

  /** Notes that a measurement has ended. */
  report(outcome: Outcome): void {
    process.stderr.write(`  ${describeOutcome(outcome)}\n`)
  }

  /** Notes that a measurement begins, so the previous one has ended. */
  announce(name: string): void {
    const left = describeSeconds(Math.ceil(this.#secondsLeft()))
    this.#begun++
    process.stderr.write(`run ${this.#begun} of ${this.#planned.length}: ${name} (${left} left)\n`)
  }

  #secondsLeft(): number {
    const done = this.#begun
    const gone = (performance.now() - this.#startedAt) / 1000
    const overhead =
      done === 0 ? ASSUMED_OVERHEAD : Math.max(0, gone - sum(this.#planned.slice(0, done))) / done
    return sum(this.#planned.slice(done)) + overhead * (this.#planned.length - done)
  }
}

const sum = (planned: readonly Planned[]): number =>
  planned.reduce((seconds, { duration, warmup }) => seconds + duration + warmup, 0)

/** A figure with its name, for example `p99 0.578 ms`. */
const describe = (figure: 'listenMs' | 'p50' | 'p99', outcome: Measurement): string =>
  `${titleOfFigure(figure, outcome).replace(/ ms$/, '')} ${format(figure, outcome[figure])} ms`

/** The outcome of a measurement as a line: `elysia  575,120 req/s  p99 0.578 ms`. */
export function describeOutcome(outcome: Outcome): string {
  const { target } = outcome
  if (!isMeasured(outcome)) return `${target}  not measured`
  const { rps, errors, lost = 0 } = outcome
  const isStart = taskOf(outcome).mode === 'start'
  const parts = [
    target,
    ...(isStart ? [] : [`${format('rps', rps)} ${titleOfFigure('rps', outcome)}`]),
    ...(isStart ? [describe('listenMs', outcome), describe('p50', outcome)] : [describe('p99', outcome)]),
    ...(lost > 0 ? [`${lost.toLocaleString('en')} lost`] : []),
    ...(errors > 0 ? [plural(errors, 'error')] : [])
  ]
  return parts.join('  ')
}

/** 95 → `1 min 35 s` */
export function describeSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`
}
