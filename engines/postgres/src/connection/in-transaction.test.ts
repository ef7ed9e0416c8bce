import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Row } from '@elysia-microservices/outbox/database'
import { acknowledgeEvent, fullError, type NewEvent, storeEvents } from './in-transaction.ts'

/** A connection that answers each statement with these rows, or this error. */
function answering(answer: readonly Row[] | Error) {
  const asked: { text: string; values: readonly (string | null)[] }[] = []
  const query = async (text: string, values: readonly (string | null)[] = []) => {
    asked.push({ text, values })
    if (answer instanceof Error) throw answer
    return answer
  }
  return { asked, query }
}

const KEEPING = { duplicateWindow: 1_000, maxBytes: 0 }

const event = (given: Partial<NewEvent> = {}): NewEvent => ({
  ...{ pattern: 'p', id: 'a', key: undefined, headers: undefined, body: '{}' },
  ...given
})

describe('what PostgreSQL answers to an event', () => {
  for (const [stored, position, isDuplicate, isHeld] of [
    ['17', '17', false, false],
    ['17=', '17', true, false],
    ['', undefined, false, false],
    ['=', undefined, true, false],
    ['held', undefined, false, true]
  ] as const)
    it(`says with '${stored}' ${isHeld ? 'that its key is held' : isDuplicate ? 'that its id is known' : 'that it is stored'}`, async () => {
      const told = await storeEvents(answering([{ stored }]), 'shop', [event()], KEEPING, true)
      assert.deepEqual(told, [{ position, isDuplicate, isHeld }])
    })

  it('says of each of several what became of it', async () => {
    const database = answering([
      { place: '17', is_duplicate: false, is_held: false },
      { place: '4', is_duplicate: true, is_held: false },
      { place: null, is_duplicate: false, is_held: true },
      { place: null, is_duplicate: false, is_held: false }
    ])
    const events = ['a', 'b', 'c', 'd'].map((id) => event({ id }))
    assert.deepEqual(await storeEvents(database, 'shop', events, KEEPING, false), [
      { position: '17', isDuplicate: false, isHeld: false },
      { position: '4', isDuplicate: true, isHeld: false },
      { position: undefined, isDuplicate: false, isHeld: true },
      { position: undefined, isDuplicate: false, isHeld: false }
    ])
    assert.deepEqual(database.asked[0]?.values, [JSON.stringify(events), '1000', 'false', '0'])
  })

  it('says that the log is full, and what it keeps, if there is a limit', async () => {
    const database = answering([{ place: 'full 17', is_duplicate: false, is_held: false }])
    const keeping = { ...KEEPING, maxBytes: 20 }
    const [told] = await storeEvents(database, 'shop', [event()], keeping, true)
    assert.deepEqual(told, { position: undefined, isDuplicate: false, isHeld: false, full: 17 })
    assert.equal(database.asked[0]?.values[3], '20')
    assert.match(fullError(17, 20).message, /keeps 17 bytes of events, and may keep 20/)
  })

  it('is asked in the schema of the store, with the window in which an id is stored once', async () => {
    const database = answering([{ stored: '1' }])
    await storeEvents(database, 'shop', [event({ key: 'k', headers: '{}' })], KEEPING, true)
    const [{ text, values } = { text: '', values: [] }] = database.asked
    assert.match(text, /"shop"\.store_event\(/)
    assert.deepEqual(values, ['p', 'a', 'k', '{}', '{}', '1000'])
  })

  it('comes at once if another transaction publishes the key, unless the caller waits for that', async () => {
    const database = answering([{ stored: '1' }])
    await storeEvents(database, 'shop', [event({ key: 'k' })], KEEPING, false)
    await storeEvents(database, 'shop', [event({ key: 'k' })], KEEPING, true)
    await storeEvents(database, 'shop', [event()], KEEPING, false)
    assert.deepEqual(
      database.asked.map(({ text }) => text.includes('pg_try_advisory_xact_lock')),
      [true, false, false]
    )
  })

  it('is asked of an event of the future with its time', async () => {
    for (const time of [{ due: 5 }, { delay: 5 }]) {
      const database = answering([{ place: null, is_duplicate: false, is_held: false }])
      await storeEvents(database, 'shop', [event(time)], KEEPING, true)
      assert.match(database.asked[0]?.values[0] ?? '', new RegExp(JSON.stringify(time).slice(1)))
    }
  })
})

describe('an acknowledgement in a transaction', () => {
  const row = { batch: '7', position: '3', letter: '4' }
  const refused = (parts: object) => answering(Object.assign(new Error('refused'), parts))

  it('names the batch, the position and the dead letter', async () => {
    const database = answering([{}])
    assert.equal(await acknowledgeEvent(database, 'shop', row), true)
    assert.deepEqual(database.asked[0]?.values, ['7', '3', '4'])
  })

  it('is refused if another process has the event, in the words of each driver', async () => {
    for (const parts of [{ code: 'EM001' }, { errno: 'EM001', code: 'ERR_POSTGRES_SERVER_ERROR' }])
      assert.equal(await acknowledgeEvent(refused(parts), 'shop', row), false)
  })

  it('that fails for another reason says that reason', async () => {
    await assert.rejects(acknowledgeEvent(refused({ code: '40001' }), 'shop', row), /refused/)
  })
})
