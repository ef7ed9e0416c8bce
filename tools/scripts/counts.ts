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

/** How a command has ended. */
export interface End {
  readonly code: number | null
  readonly signal: string | null
  /** Seconds after which it was ended because that is its limit; `undefined`: it has ended before. */
  readonly limit: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** How many lines of the error output are shown. */
const LAST_LINES = 8

/**
 * Says why a command has failed although none of its tests did: a process that is killed, runs out of memory, exits
 * within a test or never comes to its end prints no failed test.
 */
export function endInWords({ code, signal, limit, stdout, stderr }: End): string {
  const how = signal === null ? `with code ${code}` : `by ${signal}`
  const first =
    limit === undefined
      ? `No test has failed, but the command has ended ${how}`
      : `The command was ended after its limit of ${limit} s`
  const output = withoutColours(stdout)
  // Bun writes its tests to the error output.
  const ended = `${output}\n${withoutColours(stderr)}`.match(/^\s*(?:\(pass\)|\(fail\)|✔|✖) .+$/gm)?.at(-1)
  // Node tells what happens after the end of a test only here, and ends with code 1.
  const afterwards = output.match(/^ℹ (?:Error|Warning): .+$/gm) ?? []
  const last = withoutColours(stderr).trimEnd().split('\n').slice(-LAST_LINES)
  return [
    first,
    ...(ended === undefined ? [] : [`The last test that has ended: ${ended.trim()}`]),
    ...afterwards,
    ...(last.join('') === '' ? ['Nothing is in its error output'] : ['The end of its error output:', ...last])
  ].join('\n  ')
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  return text.replace(/\x1b\[[\d;]*m/g, '')
}
