import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { Connection, Database } from '../database/database.ts'
import { type Watched, watchedTransaction } from './watched.ts'

/** A database whose statements are answered by `query`, and the end of whose transactions is noted. */
function databaseOf(query: Connection['query']) {
  const ends: string[] = []
  const transaction: Database['transaction'] = async (run) => {
    try {
      const result = await run({ query }, undefined)
      ends.push('commit')
      return result
    } catch (error) {
      ends.push('rollback')
      throw error
    }
  }
  return { ends, database: { query, transaction } as Database }
}

describe('a transaction that is watched', () => {
  it('may take as long as it likes, if the database answers', async () => {
    const { database, ends } = databaseOf(async () => [{ a: 1 }])
    const rows = await watchedTransaction(database, 20, async (connection) => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      assert.equal(connection.isOpen, true)
      return connection.query('select')
    })
    assert.deepEqual([rows, ends], [[{ a: 1 }], ['commit']])
  })

  it('is given up when a statement is not answered, and settles after what it runs has ended', async () => {
    const { database, ends } = databaseOf(() => new Promise(() => {}))
    let seen: Watched | undefined
    let hasEnded = false
    const given = watchedTransaction(database, 20, async (connection) => {
      seen = connection
      try {
        await connection.query('select')
      } finally {
        assert.equal(connection.isOpen, false)
        await new Promise((resolve) => setTimeout(resolve, 20))
        hasEnded = true
      }
    })
    await assert.rejects(given, {
      message: 'PostgreSQL has not answered for 20 ms',
      // The statement may have reached PostgreSQL, and be committed by it.
      mayHaveRun: true
    })
    assert.deepEqual([hasEnded, seen?.isOpen, ends], [true, false, ['rollback']])
  })

  it('is given up when there is no connection for it', async () => {
    const database = { transaction: () => new Promise(() => {}) } as unknown as Database
    await assert.rejects(
      watchedTransaction(database, 20, async () => {}),
      { name: 'TimeoutError' }
    )
  })

  it('is given up when its end is not answered, and leaves no timer when it has ended', async () => {
    using time = new VirtualTime()
    let commit = () => {}
    const transaction: Database['transaction'] = async (run) => {
      const result = await run({ query: async () => [] }, undefined)
      await new Promise<void>((resolve) => {
        commit = resolve
      })
      return result
    }
    const database = { transaction } as Database
    const begin = () => watchedTransaction(database, 20, async (connection) => connection.query('select'))
    const late = assert.rejects(begin(), { name: 'TimeoutError' })
    await time.pass(20)
    await late
    assert.equal(time.timers, 0)
    const good = begin()
    await time.pass(19)
    commit()
    assert.deepEqual([await good, time.timers], [[], 0])
  })

  it('fails with its own error, and is not open afterwards', async () => {
    const { database, ends } = databaseOf(async () => [])
    let seen: Watched | undefined
    const failed = watchedTransaction(database, 1_000, async (connection) => {
      seen = connection
      throw new Error('no')
    })
    await assert.rejects(failed, /^Error: no$/)
    assert.deepEqual([ends, seen?.isOpen], [['rollback'], false])
  })
})
