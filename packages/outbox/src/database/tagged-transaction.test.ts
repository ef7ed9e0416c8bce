/** Transactions over a tagged `sql`, whose connection may be lost at any time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import { ISOLATION } from './database.ts'
import { type TaggedSql, taggedDatabase } from './tagged.ts'

const LOST = Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' })

/** A driver as postgres.js is: it rolls back what fails, and may notice by itself that the connection is lost. */
function driver() {
  const ran: unknown[] = []
  let lose: (error: Error) => void = () => {}
  const unsafe = async (text: string, values?: unknown[]) => {
    ran.push(values === undefined ? text : [text, values])
    return [{ isThere: true }]
  }
  const sql = {
    unsafe,
    begin: (options: string, run: (transaction: object) => Promise<unknown>) =>
      new Promise((resolve, reject) => {
        ran.push(`begin ${options}`)
        lose = reject
        run({ unsafe }).then(
          (result) => {
            ran.push('commit')
            resolve(result)
          },
          (error: Error) => {
            ran.push('rollback')
            reject(error)
          }
        )
      }),
    listen: async (channel: string, told: (payload: string) => void, begun: () => void) => {
      ran.push(`listen ${channel}`)
      begun()
      told('payload')
      return { unlisten: async () => void ran.push('unlisten') }
    }
  }
  const database = taggedDatabase(sql as unknown as TaggedSql)
  return { ran, database, lose: () => lose(LOST) }
}

describe('a transaction of a tagged sql', () => {
  it('has the result of its function, whatever that is, and the isolation of this package', async () => {
    const { ran, database } = driver()
    const result = await database.transaction(async (connection) => {
      assert.deepEqual(await connection.query('select $1', ['a']), [{ is_there: true }])
      return [Promise.resolve(1)]
    })
    assert.equal(await result[0], 1)
    assert.deepEqual(ran, [`begin ${ISOLATION}`, ['select $1', ['a']], 'commit'])
  })

  it('is rolled back at once if its function fails, with the error of the function', async () => {
    const { ran, database } = driver()
    const other = Object.assign(new Error('no'), { code: '42P01' })
    for (const failure of [new Error('no'), other, undefined])
      await assert.rejects(
        database.transaction(() => Promise.reject(failure)),
        (error) => error === failure
      )
    assert.deepEqual(ran.slice(-2), [`begin ${ISOLATION}`, 'rollback'])
  })

  it('is not rolled back over a connection that the driver has lost: postgres.js would end the process', async () => {
    using time = new VirtualTime()
    const { ran, database, lose } = driver()
    const failed = assert.rejects(
      database.transaction(() => Promise.reject(LOST)),
      (error) => error === LOST
    )
    await time.pass(500)
    lose()
    await failed
    await time.pass(10_000)
    assert.deepEqual(ran, [`begin ${ISOLATION}`])
  })

  it('is rolled back after a second if the driver does not say that it has lost the connection', async () => {
    using time = new VirtualTime()
    for (const code of ['ECONNRESET', 'EPIPE', '57P01']) {
      const { ran, database } = driver()
      const failure = Object.assign(new Error('lost'), { code })
      const failed = assert.rejects(
        database.transaction(() => Promise.reject(failure)),
        (error) => error === failure
      )
      await time.pass(990)
      assert.deepEqual(ran, [`begin ${ISOLATION}`])
      await time.pass(10)
      await failed
      assert.deepEqual(ran.at(-1), 'rollback')
    }
  })

  it('that is over runs no statement: nothing of it has run', async () => {
    const { ran, database, lose } = driver()
    let later: Promise<unknown> = Promise.resolve()
    const failed = database.transaction(async (connection) => {
      lose()
      await new Promise(setImmediate)
      later = connection.query('insert')
      await later
    })
    await assert.rejects(failed, (error) => error === LOST)
    await new Promise(setImmediate)
    await assert.rejects(later, (error: ConnectionError) => {
      assert.ok(error instanceof ConnectionError && !error.mayHaveRun)
      return true
    })
    assert.deepEqual(ran, [`begin ${ISOLATION}`])
  })

  it('listens with what the driver has, which begins again by itself, until it is told to stop', async () => {
    const { ran, database } = driver()
    let woken = 0
    const end = await database.listen(
      'c',
      () => woken++,
      () => {}
    )
    assert.equal(woken, 2)
    await end()
    assert.deepEqual(ran, ['listen c', 'unlisten'])
  })
})
