/** Tests that need a program which this machine may lack. */
import assert from 'node:assert/strict'
import { it } from 'node:test'

/** Logs that a test is skipped; in CI this is a failure. @returns whether to skip the test */
export function isMissing(what: string, missing: string | undefined): boolean {
  if (missing === undefined) return false
  if (process.env['CI']) it(`runs ${what}`, () => assert.fail(`Cannot run ${what}: there is no ${missing}`))
  else console.log(`Left out: ${what}: there is no ${missing}`)
  return true
}
