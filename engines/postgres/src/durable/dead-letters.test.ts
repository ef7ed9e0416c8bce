import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Tables } from '../connection/tables.ts'
import { PostgresDeadLetters } from './dead-letters.ts'

const row = { pattern: 'p', id: 'a', key: null, headers: null, body: '{"data":1}', reason: 'no' }
const times = { published: 1, died: 2, attempts: 3 }

describe('dead letters in PostgreSQL', () => {
  for (const position of ['', '0', '-1', '1.5', '01', 'x', '1-0', '9'.repeat(19)])
    it(`have no position '${position}', and the database is not asked`, async () => {
      const letters = new PostgresDeadLetters('g', () => assert.fail('asked'))
      assert.deepEqual(
        [await letters.get(position), await letters.redrive(position), await letters.discard(position)],
        [undefined, false, false]
      )
    })

  it('are found by their own position only, and are those of the group', async () => {
    const asked: unknown[][] = []
    const tables = {
      letters: async (...given: unknown[]) => {
        asked.push(given)
        return [{ ...row, ...times, place: '7' }]
      },
      redrive: async (...given: unknown[]) => asked.push(['redrive', ...given]) > 0,
      discard: async (...given: unknown[]) => asked.push(['discard', ...given]) > 0
    }
    const letters = new PostgresDeadLetters('g', async () => tables as unknown as Tables)
    assert.equal((await letters.get('7'))?.attempts, 3)
    // The next one after a place that is empty is another dead letter.
    assert.equal(await letters.get('6'), undefined)
    assert.deepEqual([await letters.redrive('7'), await letters.discard('7')], [true, true])
    assert.deepEqual(asked, [
      ['g', '7', 1],
      ['g', '6', 1],
      ['redrive', 'g', '7'],
      ['discard', 'g', '7']
    ])
  })
  it('that die again as soon as they are given back are listed once', async () => {
    const places = [1, 2]
    const tables = {
      letters: async (_group: string, from: string) => {
        const found = places.filter((place) => place >= Number(from))
        return found.map((place) => ({ ...row, ...times, place: String(place), found: found.length }))
      },
      redrive: async () => places.push(places.length + 1) < 10
    }
    const letters = new PostgresDeadLetters('g', async () => tables as unknown as Tables)
    const listed: string[] = []
    for await (const { position } of letters.list()) {
      listed.push(position)
      assert.ok(await letters.redrive(position))
    }
    assert.deepEqual(listed, ['1', '2'])
  })
})
