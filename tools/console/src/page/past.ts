/**
 * Combines the server's record of the last hour with the page's own samples, and compares times before and after a
 * change.
 */
import type { Figures, Mark, PastView } from '../protocol.ts'
import { type Line, type Lines, MAX_LINES } from './history.ts'

/** If two points of the past are more seconds apart than this, the time between them is unknown. */
const GAP = 25
/** Seconds before and after a mark that are compared. */
const COMPARED = 600

/** One figure of the busiest patterns. */
export function pastByPattern({ times, patterns }: PastView, figure: 'rate' | 'errors'): Lines {
  const lines = patterns
    .filter((each) => each[figure].some((value) => value !== null && value > 0))
    .map(({ key, [figure]: values }) => ({ label: key.slice(key.indexOf(' ') + 1), values }))
  return { times, lines }
}

/** Figures of all patterns together, or of the one pattern that was asked for. */
export function pastOf(
  { times, figures }: PastView,
  shown: readonly (readonly [label: string, figure: keyof Figures])[]
): Lines {
  return {
    times,
    lines: shown.flatMap(([label, figure]) => {
      const values = figures[figure]
      return values === undefined ? [] : [{ label, values }]
    })
  }
}

/**
 * Joins the server's lines with the page's own later lines. Beside points of the server the page's own points are
 * combined to the same steps, because single seconds would look like spikes there.
 * @param from earlier points are left out; seconds since 1970
 */
export function joined(past: Lines, fine: Lines, from: number): Lines {
  const first = fine.times[0] ?? Number.POSITIVE_INFINITY
  const live = past.times.some((at) => at >= from && at < first) ? inSteps(fine, past.times) : fine
  const begin = live.times[0] ?? Number.POSITIVE_INFINITY
  const old = past.times.flatMap((at, index) => (at >= from && at < begin ? [index] : []))
  const last = past.times[old.at(-1) ?? -1]
  // A point without a value, so that no line is drawn across an unknown time.
  const gap = last !== undefined && begin - last > GAP && live.times.length > 0 ? [last + 1] : []
  const labels = [...new Set([...live.lines, ...past.lines].map(({ label }) => label))].slice(
    0,
    MAX_LINES + 1
  )
  const fresh = live.times.flatMap((at, index) => (at >= from ? [index] : []))
  return {
    times: [
      ...old.map((index) => past.times[index] as number),
      ...gap,
      ...fresh.map((index) => live.times[index] as number)
    ],
    lines: labels.map((label): Line => {
      const before = past.lines.find((line) => line.label === label)
      const after = live.lines.find((line) => line.label === label)
      return {
        label,
        values: [
          ...old.map((index) => before?.values[index] ?? null),
          ...gap.map(() => null),
          ...fresh.map((index) => after?.values[index] ?? null)
        ]
      }
    })
  }
}

/** The lines with one point for each step; without the first one if the server has it, since it knows all of it. */
function inSteps({ times, lines }: Lines, past: readonly number[]): Lines {
  const steps = new Map<number, number[]>()
  for (const [index, at] of times.entries()) {
    const end = (Math.floor(at / STEP) + 1) * STEP
    const step = steps.get(end)
    if (step === undefined) steps.set(end, [index])
    else step.push(index)
  }
  const [first] = steps.keys()
  if (first !== undefined && steps.size > 1 && past.includes(first)) steps.delete(first)
  const last = times.at(-1) ?? 0
  return {
    times: [...steps.keys()].map((end) => Math.min(last, end)),
    lines: lines.map(({ values, ...line }) => ({
      ...line,
      values: [...steps.values()].map((step) => {
        const known = step.flatMap((index) => values[index] ?? [])
        if (known.length === 0) return null
        if (line.isWorst === true) return Math.max(...known)
        return known.reduce((sum, value) => sum + value, 0) / known.length
      })
    }))
  }
}

/** The figures of a service on one side of a mark. */
export interface Side {
  /** Seconds with known figures. */
  readonly seconds: number
  readonly rate: number | undefined
  readonly p50: number | undefined
  readonly p99: number | undefined
  /** The share of messages that have failed. */
  readonly errors: number | undefined
}

/** The figures of a service before and after a mark. The compared times end at neighbouring marks. */
export function compared(
  past: PastView,
  mark: Mark,
  marks: readonly Mark[]
): { readonly before: Side; readonly after: Side } {
  const at = mark.at / 1_000
  const others = marks.map((each) => each.at / 1_000)
  const begin = Math.max(at - COMPARED, ...others.filter((other) => other < at))
  const end = Math.min(at + COMPARED, ...others.filter((other) => other > at))
  return {
    before: sideOf(past, (time) => time > begin && time <= at),
    // The step that contains the change is left out, because it has messages of both sides.
    after: sideOf(past, (time) => time > at + STEP && time <= end + STEP)
  }
}

/** Seconds of a step. */
const STEP = 10

function sideOf({ times, figures }: PastView, isMeant: (at: number) => boolean): Side {
  const meant = times.flatMap((at, index) => (isMeant(at) ? [index] : []))
  const mean = (figure: keyof Figures) => {
    const values = meant.flatMap((index) => figures[figure]?.[index] ?? [])
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
  }
  const [rate, errors] = [mean('rate'), mean('errors')]
  return {
    seconds: meant.filter((index) => typeof figures.rate?.[index] === 'number').length * STEP,
    rate,
    p50: mean('p50'),
    p99: mean('p99'),
    errors: rate === undefined || errors === undefined || rate === 0 ? undefined : errors / rate
  }
}
