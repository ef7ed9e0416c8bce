/** Counts the results in a JUnit report, as `bun test` and `node --test` write it. */

/** How many test cases ended how. */
export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** The counts of one report. */
export function countResults(xml: string): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  // A test case is either one empty element or one that holds what went wrong; none holds another.
  for (const [, body] of xml.matchAll(/<testcase\b(?:[^>"]|"[^"]*")*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    if (body === undefined || !/<(failure|error|skipped)\b/.test(body)) counts.passed++
    else if (/<skipped\b/.test(body)) counts.skipped++
    else counts.failed++
  }
  return counts
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
