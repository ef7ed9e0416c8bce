/** Statistics for comparisons. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** `null`: there are no values. The median of an even number of values is the mean of the two in the middle. */
export function spread(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b)
  const min = sorted[0]
  const max = sorted.at(-1)
  if (min === undefined || max === undefined) return null
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]!
  const median = sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2
  return { median, min, max }
}
