/** The names of columns, as postgres.js gives them to its users. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import postgres from 'postgres'
import { withOwnNames } from './tagged.ts'

it('rows have the names of their statement, however the user of postgres.js wants them', () => {
  const row = { place: '1', is_duplicate: true, failed_at: null }
  for (const { column } of [postgres.camel, postgres.pascal, postgres.kebab]) {
    const theirs = Object.fromEntries(Object.entries(row).map(([name, value]) => [column.from(name), value]))
    assert.notDeepEqual(theirs, row)
    assert.deepEqual(withOwnNames([theirs, theirs]), [row, row])
  }
  const rows = [row]
  assert.equal(withOwnNames(rows), rows)
  assert.deepEqual(withOwnNames([]), [])
})
