/** Counts the results in a JUnit report, as `bun test` and `node --test` write it. */

/** How many test cases ended how. */
export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** One test of a report. */
export interface TestCase {
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed. */
  readonly reason?: string
}

/** What one report says. */
export interface Report {
  readonly counts: Counts
  /** The failed tests, each as its name and what went wrong. */
  readonly failures: readonly string[]
}

/** The tests of one report. */
export function readCases(xml: string): TestCase[] {
  // A test case is either one empty element or one that holds what went wrong; none holds another.
  const found = xml.matchAll(/<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)
  return Array.from(found, ([, attributes, body]) => {
    const name = attribute(attributes ?? '', 'name') ?? ''
    if (body === undefined || !/<(failure|error|skipped)\b/.test(body)) return { name, outcome: 'passed' }
    if (/<skipped\b/.test(body)) return { name, outcome: 'skipped' }
    const reason = attribute(body, 'message') ?? 'no reason given'
    return { name, outcome: 'failed', reason: reason.slice(0, MOST_OF_A_REASON) }
  })
}

/** Counts what one report says. */
export function readReport(xml: string): Report {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  for (const { name, outcome, reason } of readCases(xml)) {
    counts[outcome]++
    if (outcome === 'failed') failures.push(`${name}: ${reason}`)
  }
  return { counts, failures }
}

/** A report of these tests. */
export function writeReport(cases: readonly TestCase[]): string {
  const lines = cases.map(({ name, outcome, reason = '' }) => {
    const what = outcome === 'failed' ? `<failure message="${escaped(reason)}"/>` : '<skipped/>'
    return `<testcase name="${escaped(name)}">${outcome === 'passed' ? '' : what}</testcase>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${lines.join('\n')}\n</testsuites>\n`
}

const MOST_OF_A_REASON = 500

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#10': '\n',
  amp: '&'
}
const NAMES = new Map(Object.entries(ENTITIES).map(([name, one]) => [one, name]))

function attribute(of: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(of)?.[1]
  return value?.replace(/&(\w+|#10);/g, (all, entity: string) => ENTITIES[entity] ?? all)
}

function escaped(text: string): string {
  return text.replace(/[<>"'&\n]/g, (one) => `&${NAMES.get(one)};`)
}

/** The counts of several reports together. */
export function sum(all: readonly Counts[]): Counts {
  const total: Counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { passed, failed, skipped } of all) {
    total.passed += passed
    total.failed += failed
    total.skipped += skipped
  }
  return total
}
