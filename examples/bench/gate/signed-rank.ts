/**
 * Wilcoxon's signed-rank test, one-sided and exact: the probability that differences of pairs are at least as
 * negative as these, if each could have the other sign with the same probability. The test does not require a normal
 * distribution, and an outlier counts no more than its rank.
 */

/** The most pairs: with more, the exact distribution would be slow to calculate. */
export const MAX_PAIRS = 30

/** The probability of at least this sum of ranks on the negative side. Differences of 0 count half on each side. */
export function probabilityOfDrop(differences: readonly number[]): number {
  if (differences.length === 0) return 1
  const ranks = doubledRanks(differences.map(Math.abs))
  const positive = ranks.reduce((sum, rank, index) => {
    const difference = differences[index]!
    return sum + (difference > 0 ? rank : difference === 0 ? rank / 2 : 0)
  }, 0)
  return shareUpTo(ranks, positive)
}

/**
 * Ranks from the smallest, doubled: equal values share the mean of their ranks, which is a whole number when doubled.
 */
function doubledRanks(values: readonly number[]): number[] {
  return values.map((value) => {
    const smaller = values.filter((other) => other < value).length
    const equal = values.filter((other) => other === value).length
    return 2 * smaller + equal + 1
  })
}

/** The share of all combinations of signs in which the positive ranks add up to at most `limit`. */
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
