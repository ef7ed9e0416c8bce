/** Runs jobs in order, at most `width` at a time. Returns a promise for each result at once. */
export function inParallel<T>(jobs: readonly (() => Promise<T>)[], width: number): Promise<T>[] {
  const results: Promise<T>[] = []
  for (const [index, job] of jobs.entries()) {
    const before = results[index - width]
    // A job that has failed also makes room for the next.
    const turn = before === undefined ? Promise.resolve() : before.then(nothing, nothing)
    const result = turn.then(job)
    // A rejection without a listener: readers that come later still get the error.
    result.catch(nothing)
    results.push(result)
  }
  return results
}

const nothing = (): void => {}
