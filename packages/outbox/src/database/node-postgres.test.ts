/** A pool of `pg` whose clients refuse statements while they wait for an answer, as those of pg 9 do. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { type PgPool, pgDatabase } from './node-postgres.ts'

/** @param silent the statement that is never answered */
function strictPool(silent: string) {
  const ran: string[] = []
  const released: unknown[] = []
  let isBusy = false
  const client = {
    query(text: string) {
      if (isBusy) throw new Error('The client is busy')
      ran.push(text)
      if (text !== silent) return Promise.resolve({ rows: [] })
      isBusy = true
      return new Promise(() => {})
    },
    on() {},
    removeListener() {},
    release: (error: unknown) => released.push(error)
  }
  const connect = (connected: (error: undefined, given: typeof client) => void) =>
    connected(undefined, client)
  return { pool: { totalCount: 1, query: client.query, connect } as unknown as PgPool, ran, released }
}

describe('a transaction of pg', () => {
  it('is rolled back when it fails, and its client goes back to the pool', async () => {
    const { pool, ran, released } = strictPool('never')
    const failure = new Error('no')
    await assert.rejects(
      pgDatabase(pool).transaction(() => Promise.reject(failure)),
      failure
    )
    assert.deepEqual(ran, ['begin isolation level read committed', 'rollback'])
    assert.deepEqual(released, [false])
  })

  it('that fails while a statement is not answered gets no further statement, and loses its client', async () => {
    const { pool, ran, released } = strictPool('slow')
    const failure = new Error('not answered in time')
    const failing = pgDatabase(pool).transaction(async (connection) => {
      void connection.query('slow')
      throw failure
    })
    await assert.rejects(failing, failure)
    assert.deepEqual(ran, ['begin isolation level read committed', 'slow'])
    assert.deepEqual(released, [true])
  })

  it("that fails while a statement of its user is not answered loses its client, with the user's error", async () => {
    const { pool, released } = strictPool('slow')
    const failure = new Error('no')
    const failing = pgDatabase(pool).transaction(async (_connection, client) => {
      void client.query('slow')
      throw failure
    })
    await assert.rejects(failing, failure)
    assert.deepEqual(released, [true])
  })
})

/** A pool of one client, whose connection can be lost. */
function fragilePool() {
  const listeners = new Map<string, (argument: unknown) => void>()
  let answer = (_error?: Error) => {}
  const client = {
    query: () =>
      new Promise((resolve, reject) => {
        answer = (error) => (error === undefined ? resolve({ rows: [] }) : reject(error))
      }),
    on: (event: string, listener: () => void) => listeners.set(event, listener),
    removeListener: (event: string, listener: unknown) =>
      listeners.get(event) === listener && listeners.delete(event),
    release() {}
  }
  const pool = {
    totalCount: 1,
    query: client.query,
    connect: (connected: (error: undefined, given: typeof client) => void) => connected(undefined, client)
  }
  const tell = (error: Error) => {
    listeners.get('error')?.(error)
    listeners.get('end')?.(undefined)
  }
  return { pool: pool as unknown as PgPool, answer: (error?: Error) => answer(error), tell }
}

describe('listening with pg', () => {
  it('that is lost before it has begun is told by its rejection alone, and later by a call alone', async () => {
    const failure = new Error('Connection terminated unexpectedly')
    let lost = 0
    for (const isEarly of [true, false]) {
      const { pool, answer, tell } = fragilePool()
      const listening = pgDatabase(pool).listen(
        'events',
        () => {},
        () => lost++
      )
      await Promise.resolve()
      if (isEarly) {
        tell(failure)
        answer(failure)
        await assert.rejects(listening, failure)
      } else {
        answer()
        await listening
        tell(failure)
      }
      assert.equal(lost, isEarly ? 0 : 1)
    }
  })

  it('fails if the connection is lost with the answer', async () => {
    const { pool, answer, tell } = fragilePool()
    const listening = pgDatabase(pool).listen(
      'events',
      () => {},
      () => assert.fail('nobody has listened')
    )
    await Promise.resolve()
    answer()
    tell(new Error('lost'))
    await assert.rejects(listening, /was lost/)
  })
})

describe('a pool of pg', () => {
  it('whose errors nobody hears does not end the process when an idle connection is lost', () => {
    const { pool } = fragilePool()
    const events = new EventEmitter()
    pgDatabase(Object.assign(events, pool))
    pgDatabase(Object.assign(events, pool))
    events.emit('error', new Error('terminating connection due to administrator command'))
    assert.equal(events.listenerCount('error'), 1)
  })

  it('listens once for all services of a process, and not if it has one connection', async () => {
    const { pool, answer } = fragilePool()
    let connected = 0
    const { connect } = pool
    const counted = Object.assign(pool, {
      connect: (...given: never[]) => {
        connected++
        return connect(...given)
      }
    })
    const nothing = () => {}
    const both = [1, 2].map(() => pgDatabase(counted).listen('events', nothing, nothing))
    await Promise.resolve()
    answer()
    await Promise.all(both)
    assert.equal(connected, 1)
    const alone = Object.assign(fragilePool().pool, { options: { max: 1 } })
    await assert.rejects(pgDatabase(alone).listen('events', nothing, nothing), /one connection/)
  })
})
