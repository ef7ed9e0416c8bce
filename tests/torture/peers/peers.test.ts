/** The short form of each scenario: every promise holds, and something was done and asked. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SCENARIOS } from './index.ts'

describe('hostile peers', () => {
  for (const scenario of SCENARIOS) {
    it(scenario.name, async () => {
      const rows = await scenario.run({ length: 'short', progress() {} })
      assert.ok(rows.some(({ faults, succeeded }) => faults > 0 && succeeded > 0))
      for (const row of rows) {
        const { scenario: name, server, requests, succeeded, failed, lost, hung, broken } = row
        assert.deepEqual(broken, [], name)
        assert.equal(succeeded + failed + lost + hung, requests, name)
        if (server === 'ours') assert.deepEqual({ lost, hung }, { lost: 0, hung: 0 }, name)
      }
    })
  }
})
