/** What Deno's report says, counted as Node's is. */
import type { TestCase } from '../scripts/junit.ts'
import type { Difference } from './differences.ts'

/**
 * Leaves out what Deno reports beside tests: each suite is a test of its own there. Tests that differ as documented
 * become one, which fails if some of them do not differ, or are no longer there.
 */
export function denoCases(all: readonly TestCase[], differences: readonly Difference[]): TestCase[] {
  const differ = new Set(differences.flatMap(({ tests }) => tests))
  const wrong = [...differ].filter((name) => all.find((one) => one.name === name)?.outcome !== 'failed')
  const cases = testsOf(all).filter(({ name }) => !differ.has(name))
  const name = `differs from Node in ${differ.size} tests, as documented`
  if (wrong.length === 0) return [...cases, { name, outcome: 'passed' }]
  const reason = `These pass by now, or are gone; take them out of differences.ts: ${wrong.join('; ')}`
  return [...cases, { name, outcome: 'failed', reason }]
}

/** A suite goes, unless it has failed by itself: in a hook, and not by a test of its own. */
function testsOf(all: readonly TestCase[]): TestCase[] {
  const withTests = new Set<string>()
  const withFailures = new Set<string>()
  for (const { name, outcome } of all) {
    for (let at = name.indexOf(' > '); at >= 0; at = name.indexOf(' > ', at + 1)) {
      withTests.add(name.slice(0, at))
      if (outcome === 'failed') withFailures.add(name.slice(0, at))
    }
  }
  return all.filter(({ name, outcome }) => {
    return !withTests.has(name) || (outcome === 'failed' && !withFailures.has(name))
  })
}
