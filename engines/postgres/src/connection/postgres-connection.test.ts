import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PostgresConnection } from './postgres-connection.ts'

const open = (rows: readonly object[], schema: string) => {
  const pool = { totalCount: 0, connect() {}, query: async () => ({ rows }) }
  return PostgresConnection.open(pool as never, schema, { lost() {}, restored() {} })
}

describe('a connection to PostgreSQL', () => {
  it('is to the schema of the store, and closes', async () => {
    const connection = await open([{ found: true, is_current: true }], 'shop')
    assert.deepEqual([connection.server, connection.isConnected], ["'shop'", true])
    await connection.close()
  })

  it('is refused with the tables of an older version, with the line that brings them up to date', async () => {
    await assert.rejects(open([{ found: true, is_current: false }], 'elysia_microservices'), {
      name: 'OptionError',
      message:
        'The schema elysia_microservices has the tables of an older version; bring them up to date: await migrateEvents(sql)'
    })
  })

  it('is refused without the tables, with the line that creates them', async () => {
    for (const [schema, line] of [
      ['shop', /await migrateEvents\(sql, { schema: 'shop' }\)$/],
      ['elysia_microservices', /await migrateEvents\(sql\)$/]
    ] as const)
      await assert.rejects(open([{ found: false }], schema), { name: 'OptionError', message: line })
  })
})
