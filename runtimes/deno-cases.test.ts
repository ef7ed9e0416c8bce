import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { TestCase } from '../scripts/junit.ts'
import { denoCases } from './deno-cases.ts'
import { DIFFERENCES } from './differences.ts'

const DIFFERS = [{ documented: 'it differs', tests: ['suite > differs'] }]
const AS_DOCUMENTED: TestCase = { name: 'differs from Node in 1 tests, as documented', outcome: 'passed' }

const passed = (name: string): TestCase => ({ name, outcome: 'passed' })
const failed = (name: string): TestCase => ({ name, outcome: 'failed', reason: 'because' })

describe('what Deno reports', () => {
  it('is counted without its suites', () => {
    const all = [
      failed('suite'),
      failed('suite > differs'),
      passed('suite > inner'),
      passed('suite > inner > a')
    ]
    assert.deepEqual(denoCases(all, DIFFERS), [passed('suite > inner > a'), AS_DOCUMENTED])
  })

  it('keeps failures: of tests, and of suites whose hooks failed', () => {
    const all = [failed('suite > differs'), failed('a'), passed('a > b'), failed('c'), failed('c > d')]
    assert.deepEqual(denoCases(all, DIFFERS), [failed('a'), passed('a > b'), failed('c > d'), AS_DOCUMENTED])
  })

  for (const [what, all] of [
    ['passes', [passed('suite > differs')]],
    ['is gone', [passed('another')]]
  ] as const) {
    it(`has a failure where what differs ${what}`, () => {
      const last = denoCases(all, DIFFERS).at(-1)
      assert.equal(last?.outcome, 'failed')
      assert.match(last.reason ?? '', /differences\.ts: suite > differs$/)
    })
  }
})

describe('what differs on Deno', () => {
  const guide = readFileSync(new URL('../docs/runtimes.md', import.meta.url), 'utf8')
  for (const { documented } of DIFFERENCES) {
    it(`stands in the guide: ${documented}`, () => assert.ok(guide.includes(documented)))
  }
})
