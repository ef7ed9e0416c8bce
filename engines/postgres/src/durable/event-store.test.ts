import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import type { DatabaseSql } from '@elysia-microservices/outbox/database'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { EventStore } from './event-store.ts'
import type { OutgoingRow } from './outgoing.ts'
import { Transactions } from './transactions.ts'

it('a server that stops has not refused an event; what it refuses is told with whether that may pass', async () => {
  const told: string[] = []
  let state = ''
  const connection = {
    isConnected: true,
    tables: {
      store: async () => {
        throw Object.assign(new Error('no'), { code: state })
      }
    },
    reach: { failed: () => told.push('lost') }
  } as unknown as PostgresConnection
  const publisher = {
    sentEvent: () => ({}),
    refused: (_: number, error: Error, passes: boolean) => told.push(`${error.name} ${passes}`)
  } as unknown as Publisher<OutgoingRow>
  const store = new EventStore(connection, publisher, 1_000)
  for (state of ['57P01', '08006', 'ECONNREFUSED', '53100', '22P05']) {
    store.append({ size: 1, row: {} } as OutgoingRow, 0)
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
  assert.deepEqual(told, ['lost', 'lost', 'lost', 'NotStoredError true', 'EventRefusedError false'])
})

it('transactions leave two connections of a pool to the store, and a pool without a third one is refused', () => {
  const check = (max: number) =>
    new Transactions({ options: { max } } as unknown as DatabaseSql, 'elysia').check('p')
  for (const max of [1, 2]) assert.throws(() => check(max), { name: 'OptionError', message: /at least 3/ })
  check(3)
})
