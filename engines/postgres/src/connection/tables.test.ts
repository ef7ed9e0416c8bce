import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Row } from '@elysia-microservices/outbox/database'
import { Timeouts } from '@elysia-microservices/test-support'
import { Tables } from './tables.ts'

/** Tables whose statements are answered one after the other. */
function answering(...answers: (readonly Row[])[]) {
  const asked: (readonly (string | null)[])[] = []
  const database = {
    query: async (_text: string, values: readonly (string | null)[] = []) => {
      asked.push(values)
      return answers.shift() ?? []
    }
  }
  return { asked, tables: new Tables(database as never, 'shop') }
}

describe('the tables of events', () => {
  it('give the events of a turn one by one, and say which of them the log has deleted', async () => {
    const lists = {
      ...{ position: ['1', '2'], letter: ['0', '4'], attempt: [1, 3], published: [10, 20] },
      ...{
        pattern: ['p', null],
        id: ['a', null],
        key: ['k', null],
        headers: [null, null],
        body: ['{}', null]
      }
    }
    const turn = { lost: ['6'], next: 50, bounds: null, taken: [{ group: 1, batch: '7', ...lists }] }
    const { tables, asked } = answering([{ turn: JSON.stringify(turn) }])
    const wanted = [{ id: 1, most: 2, back: 2 }]
    const { lost, next, taken } = await tables.turn('me', 1_000, [], ['7'], wanted, true, 500)
    assert.deepEqual([lost, next], [['6'], 50])
    const place = { group: 1, batch: '7' }
    assert.deepEqual(taken, [
      {
        ...{ ...place, position: '1', letter: '0', attempt: 1, published: 10 },
        ...{ pattern: 'p', id: 'a', key: 'k', headers: null, body: '{}' }
      },
      {
        ...{ ...place, position: '2', letter: '4', attempt: 3, published: 20 },
        ...{ pattern: null, id: null, key: null, headers: null, body: null, vanished: true }
      }
    ])
    const told = ['me', '1000', '[]', '["7"]', JSON.stringify(wanted), 'true', '500']
    assert.deepEqual(asked, [[...told, '[1]']])
  })

  it('read the log to its end before a new group begins there', async () => {
    const { tables, asked } = answering(
      [{ more: true }],
      [{ more: true }],
      [{ more: false }],
      [{ id: '5', ordered: true, skipped: '2' }]
    )
    const since = new Date(5)
    const joined = await tables.join('g', 'p', null, true, { kind: 'since', since })
    assert.deepEqual(joined, { id: 5, ordered: true, skipped: 2 })
    assert.deepEqual(asked.slice(3), [['g', 'p', null, 'true', 'since', since.toISOString(), null]])
  })

  it('count what waits for all groups of a name, and know no lag of a name without groups', async () => {
    const figures = JSON.stringify([
      { id: 1, paused: false, lag: 3 },
      { id: 2, paused: true, lag: 4 }
    ])
    const { tables, asked } = answering([{ id: '1' }, { id: '2' }], [{ figures }])
    assert.equal(await tables.lag('g'), 7)
    assert.deepEqual(asked, [['g'], ['[1,2]']])
    assert.equal(await answering([]).tables.lag('g'), undefined)
    assert.deepEqual(await answering([{ figures: null }]).tables.figures([]), [])
  })

  it('say whether there was what an operator has named', async () => {
    for (const [count, found] of [
      ['1', true],
      ['0', false]
    ] as const) {
      const rows = [{ count, done: found }]
      assert.equal(await answering(rows).tables.pause('g', true), found)
      assert.equal(await answering(rows).tables.redrive('g', '1'), found)
      const some = found ? [{}] : []
      assert.equal(await answering(some).tables.discard('g', '1'), found)
      assert.equal(await answering(some).tables.cancel('p', 'a'), found)
      assert.equal(await answering(some).tables.fire('p', 'a'), found)
    }
  })

  it('say whether there may be more to delete, and how far they have come', async () => {
    const pruned = { more: true, deleted: '17', forgotten: 5 }
    const { tables, asked } = answering([{ pruned: JSON.stringify(pruned) }], [{ pruned: '{}' }])
    assert.deepEqual(await tables.prune(9_000, 1_000), pruned)
    await tables.prune(9_000, 1_000, pruned)
    assert.deepEqual(asked, [
      ['9000', '1000', '0', '0'],
      ['9000', '1000', '17', '5']
    ])
  })

  it('list the events of the future from the soonest on, and then behind the last of a page', async () => {
    const { tables, asked } = answering()
    await tables.waiting(undefined, undefined, 10)
    await tables.waiting('p', { due: '50', pattern: 'p', id: 'a' }, 10)
    assert.deepEqual(asked, [
      [null, '-1', '', '', '10'],
      ['p', '50', 'p', 'a', '10']
    ])
  })

  describe('of a server that answers no more', () => {
    const silent = () => new Tables({ query: () => new Promise(() => {}) } as never, 'shop')
    const event = { pattern: 'e', key: undefined, headers: undefined, body: '', due: undefined, id: '1' }
    for (const [what, ask] of [
      ['a turn', (tables: Tables) => tables.turn('me', 1_000, [], [], [], false)],
      ['a look whether the server is back', (tables: Tables) => tables.query('select 1')],
      ['publishing', (tables: Tables) => tables.store([event], 1_000, false)],
      ['publishing that waits for others', (tables: Tables) => tables.store([event], 1_000)]
    ] as const)
      it(`${what} fails after a while, as if the server were lost`, async () => {
        using _timeouts = new Timeouts((milliseconds) => (milliseconds === 300_000 ? 0 : milliseconds))
        await assert.rejects(ask(silent()), { message: /it has not answered within 300000 ms$/ })
      })
  })
})
