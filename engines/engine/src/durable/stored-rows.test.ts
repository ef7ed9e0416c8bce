import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collected } from '@elysia-microservices/test-support'
import { routeOf } from '@elysia-microservices/transport/kit'
import {
  backlogEvent,
  deadLetterOf,
  futureIn,
  inPages,
  isCutPage,
  merged,
  type StoredRow,
  waitingEvent
} from './stored-rows.ts'

describe('a long list', () => {
  for (const [total, limit, expected, pages] of [
    [0, undefined, 0, 1],
    [99, undefined, 99, 1],
    [100, undefined, 100, 2],
    [101, undefined, 101, 2],
    [250, 100, 100, 1],
    [250, 101, 101, 2],
    [250, 0, 0, 0]
  ] as const)
    it(`of ${total} with the limit ${limit} is read in ${pages} pages, each item once`, async () => {
      const asked: number[] = []
      const list = inPages(limit, async (behind: number | undefined, most) => {
        asked.push(most)
        const from = (behind ?? 0) + 1
        return Array.from({ length: Math.min(most, total - from + 1) }, (_, at) => from + at)
      })
      const seen: number[] = []
      for await (const one of list) seen.push(one)
      assert.deepEqual(
        seen,
        Array.from({ length: expected }, (_, at) => at + 1)
      )
      assert.equal(asked.length, pages)
      assert.ok(asked.every((most) => most <= 100))
    })
})

describe('a list whose pages may be cut, as their rows are large,', () => {
  /** Lists numbers, of which a page has two at most. @param changed is called after each page */
  async function listed(numbers: number[], changed = () => {}): Promise<number[]> {
    const read = async (behind: StoredRow | undefined, most: number) => {
      const all = numbers.filter((n) => n > Number(behind?.['n'] ?? 0)).slice(0, most)
      return all.slice(0, 2).map((n) => ({ n, found: all.length }))
    }
    const seen: number[] = []
    for await (const { n } of inPages<{ n: number; found: number }>(undefined, read, isCutPage)) {
      seen.push(n)
      if (seen.length % 2 === 0) changed()
    }
    return seen
  }

  it('goes on behind those that were cut', async () => {
    assert.deepEqual(await listed([1, 2, 3, 4, 5]), [1, 2, 3, 4, 5])
  })

  it('ends with one that was not, also if its reader makes the list longer', async () => {
    const numbers = [1, 2, 3, 4]
    assert.deepEqual(await listed(numbers, () => numbers.push(numbers.length + 1)), [1, 2, 3, 4, 5, 6])
    const two = [1, 2]
    assert.deepEqual(await listed(two, () => assert.ok(two.push(two.length + 1) < 10)), [1, 2])
  })
})

it('of sorted lists one sorted list is made, and no list is read further than needed', async () => {
  const lists = [[1, 4, 9], [], [2, 3, 10], [4]]
  const read: number[] = []
  const asked = lists.map(async function* (list) {
    for (const one of list) {
      read.push(one)
      yield one
    }
  })
  const seen: number[] = []
  for await (const one of merged(asked, (first, second) => first - second)) if (seen.push(one) === 4) break
  assert.deepEqual(seen, [1, 2, 3, 4])
  assert.deepEqual(read.includes(9), false)
  const all = merged(
    lists.map(async function* (list) {
      yield* list
    }),
    (first, second) => first - second
  )
  assert.deepEqual(await collected(all), [1, 2, 3, 4, 4, 9, 10])
})

describe('a row', () => {
  const row = { pattern: 'p', id: 'a', key: null, headers: null, body: '{"data":{"n":1}}' }
  const common = { id: 'a', key: undefined, headers: {}, data: { n: 1 } }

  it('of an event of the future is shown with its time in whole milliseconds', () => {
    assert.deepEqual(waitingEvent({ ...row, due: '5.0004' }), { pattern: 'p', ...common, at: new Date(5) })
    const { key, headers } = waitingEvent({ ...row, due: 5, key: 'k', headers: '{"x":"1"}' })
    assert.deepEqual([key, headers], ['k', { x: '1' }])
  })

  it('of a dead letter is shown with the pattern that its publisher gave', () => {
    const letter = { ...row, place: 7, reason: 'no', attempts: 2, published: 1, died: 2 }
    const shown = { position: '7', group: 'g', reason: 'no', attempts: 2, ...common }
    const times = { publishedAt: new Date(1), diedAt: new Date(2) }
    assert.deepEqual(deadLetterOf('g', letter), { pattern: 'p', ...shown, ...times })
    const pattern = { cmd: 'x' }
    const body = JSON.stringify({ data: { n: 1 }, pattern })
    const given = deadLetterOf('g', { ...letter, pattern: routeOf(pattern), body })
    assert.deepEqual(given, { pattern: JSON.stringify(pattern), ...shown, ...times })
  })

  it('of an event that waits is shown with the end of its pause, if it has one', () => {
    const waiting = { ...row, position: 7, attempt: 2, published: 1, due: 5.2 }
    const shown = { position: '7', pattern: 'p', ...common, publishedAt: new Date(1), attempts: 2 }
    assert.deepEqual(backlogEvent(waiting, 'pausing'), { ...shown, state: 'pausing', dueAt: new Date(6) })
    assert.deepEqual(backlogEvent(waiting, 'running'), { ...shown, state: 'running', dueAt: undefined })
  })
})

it('the future of a table is asked for by routes, and read in pages behind the last row', async () => {
  const row = (due: number) => ({ pattern: 'p', id: String(due), key: null, headers: null, body: '{}', due })
  const asked: unknown[] = []
  const future = futureIn(async () => ({
    now: () => 5,
    cancel: (...given) => asked.push('cancel', ...given) > 0,
    fire: async (...given) => asked.push('fire', ...given) === 0,
    waiting: (pattern, behind: StoredRow | undefined, most) => {
      asked.push(pattern, behind?.['due'], most)
      return Array.from({ length: most }, (_, n) => row(Number(behind?.['due'] ?? 0) + n + 1))
    }
  }))
  const pattern = { cmd: 'x' }
  assert.deepEqual(
    [await future.now(), await future.cancel(pattern, 'a'), await future.fire('p', 'b')],
    [5, true, false]
  )
  assert.deepEqual(asked.splice(0), ['cancel', routeOf(pattern), 'a', 'fire', 'p', 'b'])
  assert.equal((await collected(future.list({ pattern, limit: 150 }))).length, 150)
  assert.deepEqual(asked.splice(0), [routeOf(pattern), undefined, 100, routeOf(pattern), 100, 50])
  for await (const { id } of future.list()) {
    assert.equal(id, '1')
    break
  }
  assert.deepEqual(asked, [undefined, undefined, 100])
})
