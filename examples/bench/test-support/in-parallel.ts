/** Runs jobs, at most `width` at a time, in order; gives a promise of each result at once. */
export function inParallel<T>(jobs: readonly (() => Promise<T>)[], width: number): Promise<T>[] {
  const results: Promise<T>[] = []
  for (const [index, job] of jobs.entries()) {
    const before = results[index - width]
    // A job that failed makes room, too.
    const turn = before === undefined ? Promise.resolve() : before.then(nothing, nothing)
    const result = turn.then(job)
    // Anyone who asks for it gets the error; nobody may be asking yet.
    result.catch(nothing)
    results.push(result)
  }
  return results
}

const nothing = (): void => {}
