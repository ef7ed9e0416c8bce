/**
 * The short form of scenarios, as tests. Guarantees about time and speed are not checked here, because the machines
 * do other work: `npm run torture -- --long` checks them.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { verdict } from './report/table.ts'
import type { Scenario } from './scenario.ts'

export function itSurvives(scenarios: readonly Scenario[]): void {
  describe('under torture, no request is lost, doubled or left hanging, and all guarantees are kept', () => {
    for (const scenario of scenarios) {
      it(scenario.name, { timeout: 600_000 }, async () => {
        const rows = await scenario.run({ length: 'short', progress() {} })
        assert.deepEqual(verdict(rows), [])
        for (const row of rows) {
          assert.equal(row.succeeded + row.failed + row.lost + row.hung, row.requests, row.scenario)
          // The remark names steps that the machine does not allow.
          const done = row.faults > 0 && row.requests > 0
          assert.ok(done || row.remark !== undefined, `${row.scenario}: nothing was done`)
        }
        // Lives begin with a row without faults.
        assert.ok(rows.some(({ faults, requests }) => faults > 0 && requests > 0))
      })
    }
  })
}
