import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@elysia-microservices/transport/kit'
import type { Committed } from '../connection/group.ts'
import { Partitions } from './partition.ts'

const place = { topic: 'a', topicId: 'id', partition: 0 }

/** The partition `place` in which one event is done, and a coordinator that refuses the first commits. */
function partitionsWith(refusals: number) {
  const committed: Committed[] = []
  const failures: unknown[] = []
  let asked = 0
  const partitions = new Partitions({
    pattern: 'a',
    clock: systemClock,
    canCommit: () => ++asked !== 2,
    commit: async (positions) => {
      if (refusals-- > 0) throw new Error('not now')
      committed.push(...positions)
    },
    failed: (error) => void failures.push(error)
  })
  partitions.add({ ...place, next: 5n, metadata: '' })
  const { tracker } = partitions.get('a', 0) ?? assert.fail()
  tracker.came(5)
  tracker.done(5)
  return { partitions, committed, failures, asked: () => asked }
}

describe('the partitions of a durable handler', () => {
  it('that go to another member are committed first, behind refusals and a lost connection', async () => {
    const { partitions, committed, failures } = partitionsWith(2)
    await partitions.commitAll(partitions.of([place]))
    assert.deepEqual(committed, [{ ...place, next: 6n, metadata: '' }])
    assert.equal(failures.length, 2)
  })

  it('that are lost meanwhile are not committed any more', async () => {
    const { partitions, committed } = partitionsWith(1)
    const leaving = partitions.of([place])
    const ended = partitions.commitAll(leaving)
    partitions.remove(leaving)
    await ended
    assert.deepEqual(committed, [])
  })

  it('of a handler that stops are committed with a limited number of attempts', async () => {
    const { partitions, committed, asked } = partitionsWith(10)
    await partitions.commitAll(partitions.of([place]), 3)
    assert.deepEqual(committed, [])
    assert.equal(asked(), 3)
  })
})
