import assert from 'node:assert/strict'
import { it } from 'node:test'
import { soak } from './load/soak.ts'
import { scenarios } from './scenarios.ts'
import { itSurvives } from './suite.ts'

itSurvives([soak])

it('has scenarios of different names', () => {
  const names = scenarios.map(({ name }) => name)
  assert.deepEqual(names, [...new Set(names)])
  for (const name of names) assert.match(name, /^[a-z0-9-]+$/)
})
