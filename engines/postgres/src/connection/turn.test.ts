import assert from 'node:assert/strict'
import { it } from 'node:test'
import { takenRow } from '../testing/fake-tables.ts'
import { isFull } from './turn.ts'

it('a turn is followed by another one at once if a group has all that was wanted, and that was more than one event', () => {
  const turn = (...groups: readonly number[]) => ({
    ...{ lost: [], next: null, bounds: null },
    taken: groups.map((group) => takenRow({ group }))
  })
  const wanted = (most: Readonly<Record<number, number>>) =>
    Object.entries(most).map(([id, count]) => ({ id: Number(id), most: count, back: count }))
  for (const [groups, most, expected] of [
    [[1, 1], { 1: 2 }, true],
    [[1, 2, 2], { 1: 3, 2: 2 }, true],
    [[1], { 1: 2 }, false],
    [[1], { 1: 1 }, false],
    [[], { 1: 0 }, false],
    [[1, 1], { 2: 2 }, false]
  ] as const)
    assert.equal(isFull(turn(...groups), wanted(most)), expected, JSON.stringify([groups, most]))
})
