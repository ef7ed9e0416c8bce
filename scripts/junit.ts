/** Counts the results in a JUnit report, as `bun test` and `node --test` write it. */

/** How many test cases ended how. */
export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** What one report says. */
export interface Report {
  readonly counts: Counts
  /** The failed tests, each as its name and what went wrong. */
  readonly failures: readonly string[]
}

/** Reads one report. */
export function readReport(xml: string): Report {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  // A test case is either one empty element or one that holds what went wrong; none holds another.
  for (const [, attributes, body] of xml.matchAll(
    /<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g
  )) {
    if (body === undefined || !/<(failure|error|skipped)\b/.test(body)) counts.passed++
    else if (/<skipped\b/.test(body)) counts.skipped++
    else {
      counts.failed++
      const reason = attribute(body, 'message') ?? 'no reason given'
      failures.push(`${attribute(attributes ?? '', 'name')}: ${reason.slice(0, MOST_OF_A_REASON)}`)
    }
  }
  return { counts, failures }
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

function attribute(of: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(of)?.[1]
  return value?.replace(/&(\w+|#10);/g, (all, entity: string) => ENTITIES[entity] ?? all)
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
