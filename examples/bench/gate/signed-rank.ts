/**
 * Wilcoxon's signed-rank test, one-sided and exact: how likely differences of pairs are to be as negative as these by
 * chance alone, when each could as well have been the other way round. It asks for no normal distribution, and one
 * wild run counts no more than its rank.
 */

/** Beyond this the exact distribution would be slow to count, and nobody has the patience to measure so often. */
export const MAX_PAIRS = 30

/** The probability under chance of ranks at least as much on the negative side. Differences of 0 count half to each. */
export function probabilityOfDrop(differences: readonly number[]): number {
  if (differences.length === 0) return 1
  const ranks = doubledRanks(differences.map(Math.abs))
  const positive = ranks.reduce((sum, rank, index) => {
    const difference = differences[index]!
    return sum + (difference > 0 ? rank : difference === 0 ? rank / 2 : 0)
  }, 0)
  return shareUpTo(ranks, positive)
}

/** Ranks from the smallest, times two: those of equals are means, and so are whole all the same. */
function doubledRanks(values: readonly number[]): number[] {
  return values.map((value) => {
    const smaller = values.filter((other) => other < value).length
    const equal = values.filter((other) => other === value).length
    return 2 * smaller + equal + 1
  })
}

/** Of all ways to give each rank a sign, the share whose positive ranks add up to at most `limit`. */
function shareUpTo(ranks: readonly number[], limit: number): number {
  const total = ranks.reduce((sum, rank) => sum + rank, 0)
  let ways = new Float64Array(total + 1)
  ways[0] = 1
  for (const rank of ranks) {
    const next = ways.slice()
    for (let sum = rank; sum <= total; sum++) next[sum]! += ways[sum - rank]!
    ways = next
  }
  const within = ways.subarray(0, Math.floor(limit) + 1).reduce((sum, count) => sum + count, 0)
  return within / 2 ** ranks.length
}
