import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { takenRow } from '../testing/fake-tables.ts'
import { type Batch, TakenEvent } from './event.ts'

const batch: Batch = { id: '7', left: new Set(), leasedUntil: 0, isLost: false }

describe('a taken event', () => {
  it('has what its row has', () => {
    const row = takenRow({ key: 'k', headers: '{"x":"1"}', published: 5, position: '9' })
    const { pattern, id, key, headers, publishedAt, position } = new TakenEvent(row, batch, false)
    assert.deepEqual([pattern, id, key, headers, publishedAt, position], ['p', 'a', 'k', { x: '1' }, 5, '9'])
    const bare = new TakenEvent(takenRow(), batch, true)
    assert.deepEqual([bare.key, bare.headers, bare.lock], [undefined, undefined, null])
  })

  it('counts a run when it has begun', () => {
    const event = new TakenEvent(takenRow({ attempt: 3 }), batch, false)
    assert.equal(event.begun, 2)
    event.begun = event.attempt
    event.attempt++
    assert.equal(event.begun, 3)
  })

  it('locks its key in an ordered group, unless it is a dead letter that was given back', () => {
    const locks = ([letter, isOrdered]: readonly [string, boolean]) => {
      const { lock, isFree } = new TakenEvent(takenRow({ key: 'k', letter }), batch, isOrdered)
      return [lock, isFree]
    }
    assert.deepEqual(
      (
        [
          ['0', true],
          ['0', false],
          ['4', true]
        ] as const
      ).map(locks),
      [
        ['k', false],
        [null, false],
        [null, true]
      ]
    )
  })
})
