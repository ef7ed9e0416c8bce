import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { checkedOptions, FakeTables } from '../testing/fake-tables.ts'
import { PostgresServerStore } from './server-store.ts'
import { Transactions } from './transactions.ts'

it('a service listens once for each connection, and says farewell when it closes', async () => {
  const options = checkedOptions()
  const context = { name: 'g', version: undefined, logger: { warn() {}, error() {} } }
  const store = new PostgresServerStore(options, new Transactions(options.sql, options.schema), context)
  const tables = new FakeTables()
  const connection = { tables, isConnected: true, reach: { failed() {} } } as unknown as PostgresConnection
  await store.attach(connection)
  // A start that is tried again.
  await store.attach(connection)
  assert.deepEqual(tables.channels, ['shop_events'])
  store.close()
  while (tables.left.length === 0) await new Promise(setImmediate)
  assert.deepEqual([tables.left, tables.unlistened], [[tables.turns[0]?.owner], 1])
})
