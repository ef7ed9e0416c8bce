import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OverTables, takenRow } from '../testing/fake-tables.ts'
import { DueLooks } from './due-looks.ts'
import type { Taker } from './taker.ts'

it('a process looks everywhere for what is due once a second, and behind bounds meanwhile', () => {
  const looks = new DueLooks()
  assert.deepEqual(looks.next([1, 2], 0), [1, 2])
  const bounds = { later: 50, 1: 70 }
  looks.told({ bounds, taken: [takenRow({ batch: '7' }), takenRow({ batch: '6' })] }, 0, 10)
  // The answer to a turn with bounds has none.
  looks.told({ bounds: null, taken: [] }, 500, 10)
  assert.deepEqual(
    [1, 999, 1_000].map((now) => looks.next([1, 2, 3], now)),
    [{ ...bounds, batch: 7 }, { ...bounds, batch: 7 }, [1, 2, 3]]
  )
})

it('a process looks everywhere more seldom if that takes long, and at once if the server may be another one', () => {
  const looks = new DueLooks()
  looks.told({ bounds: { later: 50 }, taken: [] }, 0, 200)
  assert.deepEqual(
    [3_999, 4_000].map((now) => looks.next([1], now)),
    [{ later: 50, batch: 0 }, [1]]
  )
  looks.told({ bounds: { later: 60 }, taken: [takenRow({ batch: '9' })] }, 4_000, 0)
  looks.forget()
  assert.deepEqual(looks.next([1], 4_001), [1])
  looks.told({ bounds: {}, taken: [] }, 5_000, 0)
  assert.deepEqual(looks.next([1], 5_001), { batch: 0 }, 'Another server has other numbers')
})

it('turns look for all handlers, and give what they were told to the next ones', async () => {
  const over = new OverTables({ pollInterval: 100_000 })
  const taker = (groupId: number, room: number) =>
    ({ groupId, room, mostBack: room, deliver() {}, setFigures() {} }) as unknown as Taker
  over.turns.add(taker(1, 0))
  over.turns.add(taker(2, 5))
  over.tables.answers.push(
    { bounds: { later: 9 }, taken: [takenRow({ group: 2, batch: '4' })] },
    new Error('gone')
  )
  await over.settled()
  over.turns.restored()
  await over.settled()
  const [first, second, third] = over.tables.turns
  assert.deepEqual([first?.looks, second?.looks, third?.looks], [[1, 2], { later: 9, batch: 4 }, [1, 2]])
})
