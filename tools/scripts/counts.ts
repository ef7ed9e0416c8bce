/** Reads how many tests passed and failed from the output of test runners. */

/** The numbers of tests by outcome. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const SUMMARIES: Readonly<Record<keyof Counts, readonly RegExp[]>> = {
  // The summaries of Bun, Node and Deno. Deno counts the suites of a file, and calls the tests in a suite steps.
  passed: [/^ *(\d+) pass$/gm, /^ℹ pass (\d+)$/gm, /^(?:ok|FAILED) \| (\d+) passed/gm],
  failed: [/^ *(\d+) fail$/gm, /^ℹ (?:fail|cancelled) (\d+)$/gm, /^(?:ok|FAILED) \|.* (\d+) failed/gm],
  skipped: [/^ *(\d+) skip$/gm, /^ℹ skipped (\d+)$/gm, /^(?:ok|FAILED) \|.* (\d+) ignored/gm]
}

/**
 * Counts the tests in the output of a runner; 0 if the output has no summary, because the runner has not reached its
 * end.
 */
export function countsIn(output: string): Counts {
  const text = withoutColours(output)
  const sum = (patterns: readonly RegExp[]) =>
    patterns.reduce(
      (total, pattern) =>
        [...text.matchAll(pattern)].reduce((among, [, count]) => among + Number(count), total),
      0
    )
  return {
    passed: sum(SUMMARIES.passed),
    failed: sum(SUMMARIES.failed),
    skipped: sum(SUMMARIES.skipped)
  }
}

/** The output without the lines of passed tests, and without the headings of files that have no other lines. */
export function withoutPassed(output: string): string {
  const left = withoutColours(output)
    .split('\n')
    .filter((line) => !/^\s*(?:\(pass\)|✔)|\.\.\. (?:ok|ignored) \(/.test(line))
  return left
    .filter((line, index) => {
      if (!isHeading(line)) return true
      const next = left.slice(index + 1).find((each) => each.trim() !== '')
      return next !== undefined && !isHeading(next)
    })
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** Whether Bun begins the tests of a file with this line. */
const isHeading = (line: string): boolean => /^\S+\.test\.tsx?:$/.test(line)

/** The names of the tests that have failed, each once. */
export function failedTests(output: string): string[] {
  const names = [...withoutColours(output).matchAll(/^\s*(?:\(fail\)|✖) (.+?)(?: [([][\d.]+ ?m?s[)\]])?$/gm)]
  return [...new Set(names.map(([, name = '']) => name))].filter((name) => name !== 'failing tests:')
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  return text.replace(/\x1b\[[\d;]*m/g, '')
}
