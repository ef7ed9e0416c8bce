/** Records the last hour of services in steps, with a fixed amount of memory whatever the services do. */
import type { KeptFigures } from './past-file.ts'
import type { Figures, PastView, ServiceSample } from './protocol.ts'

/** Milliseconds of a step. */
export const STEP = 10_000
/** How many steps are kept. */
export const STEPS = 360
/** Largest number of services and patterns that are recorded; each takes about 10 KB. Further ones are left out. */
export const MAX_SERIES = 2_000
/** How many patterns of a service are separate in the record of the whole service. */
const MAX_BUSIEST = 6

/** How the samples of a step are combined to one number: by their mean, or by the worst value. */
const FIGURES = {
  rate: 'mean',
  p50: 'mean',
  p90: 'mean',
  p99: 'most',
  lifetime: 'mean',
  inFlight: 'most',
  errors: 'mean',
  failures: 'mean'
} as const satisfies Record<keyof Figures, 'mean' | 'most'>
const NAMES = Object.keys(FIGURES) as (keyof Figures)[]

/** The record of one service, or of one pattern. */
class Series {
  readonly steps = new Float32Array(STEPS * NAMES.length).fill(Number.NaN)
  /** The last step to which samples were added, and the number of its samples for each figure. */
  #step = -1
  readonly #counts = new Uint16Array(NAMES.length)

  add(step: number, figures: Figures): void {
    if (step !== this.#step) this.#counts.fill(0)
    this.#step = step
    for (const [index, name] of NAMES.entries()) {
      const value = figures[name]
      if (value === undefined) continue
      const at = (step % STEPS) * NAMES.length + index
      const count = (this.#counts[index] as number) + 1
      this.#counts[index] = count
      const before = this.steps[at] as number
      this.steps[at] =
        count === 1
          ? value
          : FIGURES[name] === 'mean'
            ? before + (value - before) / count
            : Math.max(before, value)
    }
  }

  /** The figures of a step; `undefined` if it has none. */
  at(step: number): Float32Array | undefined {
    const slot = (step % STEPS) * NAMES.length
    const figures = this.steps.slice(slot, slot + NAMES.length)
    return figures.every(Number.isNaN) ? undefined : figures
  }

  forget(slot: number): void {
    this.steps.fill(Number.NaN, slot * NAMES.length, (slot + 1) * NAMES.length)
  }

  values(name: keyof Figures, slots: readonly number[]): (number | null)[] {
    const index = NAMES.indexOf(name)
    return slots.map((slot) => {
      const value = this.steps[slot * NAMES.length + index] as number
      return Number.isNaN(value) ? null : Number(value.toPrecision(4))
    })
  }

  /** The sum of a figure over all steps. */
  sum(name: keyof Figures): number {
    let sum = 0
    for (let at = NAMES.indexOf(name); at < this.steps.length; at += NAMES.length) {
      const value = this.steps[at] as number
      if (!Number.isNaN(value)) sum += value
    }
    return sum
  }

  get isEmpty(): boolean {
    return this.steps.every(Number.isNaN)
  }
}

/** Records the last hour. */
export class Past {
  /** By the ids of services, and then by kind and pattern; `''` stands for all patterns together. */
  readonly #services = new Map<string, Map<string, Series>>()
  #size = 0
  /** The newest step. */
  #step = Number.NEGATIVE_INFINITY

  /** The number of recorded services and patterns. */
  get size(): number {
    return this.#size
  }

  /** Adds a sample of each service. @param at milliseconds since 1970 */
  add(at: number, services: Readonly<Record<string, ServiceSample>>): void {
    const step = Math.floor(at / STEP)
    // If the clock was set back, samples are ignored until it has caught up: otherwise they would overwrite earlier
    // steps.
    if (step < this.#step) return
    if (step > this.#step) this.#advance(step)
    for (const [id, { total, rows }] of Object.entries(services)) {
      if (total !== undefined) this.#seriesOf(id, '')?.add(step, total)
      for (const row of rows) {
        const key = `${row.kind} ${row.pattern}`
        const known = this.#services.get(id)?.get(key)
        // A pattern that has never been used takes no memory.
        if (known === undefined && row.rate === 0 && row.inFlight === 0) continue
        ;(known ?? this.#seriesOf(id, key))?.add(step, row)
      }
    }
  }

  /** All figures of a step. */
  *at(step: number): Generator<KeptFigures> {
    for (const [id, service] of this.#services)
      for (const [key, series] of service) {
        const figures = series.at(step)
        if (figures !== undefined) yield { step, id, key, figures }
      }
  }

  /** Adds the figures of a step that were kept by an earlier process, unless this process has figures of that step. */
  restore({ step, id, key, figures }: KeptFigures): void {
    if (step <= this.#step - STEPS || figures.length !== NAMES.length) return
    if (step > this.#step) this.#advance(step)
    const series = this.#seriesOf(id, key)
    if (series !== undefined && series.at(step) === undefined)
      series.steps.set(figures, (step % STEPS) * NAMES.length)
  }

  /** The recorded part of the last hour of a service, or of one of its patterns. */
  of(id: string, key = ''): PastView {
    const service = this.#services.get(id)
    const one = service?.get(key)
    const known = Math.max(0, Math.min(STEPS, this.#step + 1))
    const steps = Array.from({ length: known }, (_, index) => this.#step - known + 1 + index)
    const isKnown = (step: number) =>
      one !== undefined && !Number.isNaN(one.steps[(step % STEPS) * NAMES.length] as number)
    const first = steps.findIndex(isKnown)
    const shown = first < 0 ? [] : steps.slice(first)
    const slots = shown.map((step) => step % STEPS)
    const busiest =
      key !== '' || service === undefined
        ? []
        : [...service]
            .filter(([each]) => each !== '')
            .map(([each, series]) => ({ each, series, sum: series.sum('rate') }))
            .sort((a, b) => b.sum - a.sum)
            .slice(0, MAX_BUSIEST)
    return {
      times: shown.map((step) => ((step + 1) * STEP) / 1_000),
      figures:
        one === undefined ? {} : Object.fromEntries(NAMES.map((name) => [name, one.values(name, slots)])),
      patterns: busiest.map(({ each, series }) => ({
        key: each,
        rate: series.values('rate', slots),
        errors: series.values('errors', slots)
      }))
    }
  }

  #seriesOf(id: string, key: string): Series | undefined {
    const service = this.#services.get(id) ?? new Map<string, Series>()
    const known = service.get(key)
    if (known !== undefined) return known
    if (this.#size >= MAX_SERIES) return undefined
    const series = new Series()
    this.#size++
    this.#services.set(id, service.set(key, series))
    return series
  }

  /** Begins a step: clears the steps that are an hour old, and those between the previous step and this one. */
  #advance(step: number): void {
    const skipped = Math.min(STEPS, step - this.#step)
    for (const service of this.#services.values())
      for (const series of service.values())
        for (let n = 0; n < skipped; n++) series.forget((((step - n) % STEPS) + STEPS) % STEPS)
    this.#step = step
    // Empty records are removed only from time to time, because that is enough.
    if (step % 30 === 0 || this.#size >= MAX_SERIES) this.#forgetEmpty()
  }

  #forgetEmpty(): void {
    for (const [id, service] of this.#services) {
      for (const [key, series] of service) {
        if (!series.isEmpty) continue
        service.delete(key)
        this.#size--
      }
      if (service.size === 0) this.#services.delete(id)
    }
  }
}
