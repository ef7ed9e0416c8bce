/** A lost connection is told in one way, whatever the driver's words for it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import { PostgresConnection } from './postgres-connection.ts'
import { Tables } from './tables.ts'

const failure = (message: string, parts: object = {}) => Object.assign(new Error(message), parts)
const poolOf = (error: Error) => ({ totalCount: 0, connect() {}, query: () => Promise.reject(error) })
const open = (error: Error) =>
  PostgresConnection.open(poolOf(error) as never, 'shop', { lost() {}, restored() {} })

describe('a connection to PostgreSQL that is lost', () => {
  for (const error of [
    failure('Connection terminated unexpectedly'),
    failure('read ECONNRESET', { code: 'ECONNRESET' }),
    failure('write CONNECTION_CLOSED', { code: 'CONNECTION_CLOSED' }),
    failure('Connection closed', { code: 'ERR_POSTGRES_CONNECTION_CLOSED' }),
    failure('terminating connection due to administrator command', { code: '57P01' })
  ])
    it(`while it opens is a ConnectionError, and nothing has run: ${error.message}`, async () => {
      const told = await open(error).catch((failed: unknown) => failed)
      assert.ok(told instanceof ConnectionError)
      assert.equal(told.mayHaveRun, false)
      assert.equal(told.cause, error)
    })

  it('in the middle of a statement is a ConnectionError, and the statement may have run', async () => {
    const error = failure('Connection terminated unexpectedly')
    const database = { query: () => Promise.reject(error) }
    const told = await new Tables(database as never, 'shop').pause('billing', true).catch((failed) => failed)
    assert.ok(told instanceof ConnectionError)
    assert.equal(told.mayHaveRun, true)
  })

  it('is not what PostgreSQL has answered: that error stays as it is', async () => {
    const error = failure('permission denied for schema shop', { code: '42501' })
    await assert.rejects(open(error), error)
  })
})
