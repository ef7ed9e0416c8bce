/** A report of which some parts were measured again. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeConditions } from '../report/conditions.ts'
import { comparison } from '../test-support/comparison.ts'
import { withParts } from './published.ts'

it('has the newest contests of each part, and says when and where a part was measured again', () => {
  const report = (startedAt: string, ...parts: string[]) => ({
    ...comparison(parts.map((part) => [{ part }, []])),
    startedAt
  })
  const first = report('2026-01-01T10:00:00.000Z', 'All', 'Inside')
  const second = withParts(first, report('2026-02-02T10:00:00.000Z', 'Inside'), ['Inside'])
  const third = withParts(second, report('2026-03-03T10:00:00.000Z', 'Inside'), ['Inside'])
  assert.deepEqual(
    third.contests.map(({ part }) => part),
    ['All', 'Inside']
  )
  assert.equal(third.startedAt, first.startedAt)
  const told = describeConditions(third).filter((line) => line.startsWith('Inside: '))
  assert.equal(told.length, 1)
  assert.match(String(told), /^Inside: 2026-03-03 10:00 · commit .* · .*server on CPU/)
})
