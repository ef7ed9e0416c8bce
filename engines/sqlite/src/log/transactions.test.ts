import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Database } from '../driver.ts'
import { Transactions } from './transactions.ts'

it('a transaction waits for the disk if it must survive a loss of power, and says so only when that changes', () => {
  const said: string[] = []
  const transactions = new Transactions({ exec: (sql) => void said.push(sql) } as Database)
  const run = (safety: 'disk' | 'process') => {
    said.length = 0
    assert.equal(
      transactions.run(safety, () => 7),
      7
    )
    return said.filter((sql) => sql.startsWith('pragma'))
  }
  assert.deepEqual(run('process'), ['pragma synchronous = normal'])
  assert.deepEqual(run('disk'), ['pragma synchronous = full'])
  assert.deepEqual(run('disk'), [])
  assert.deepEqual(run('process'), ['pragma synchronous = normal'])
})

it('a transaction that fails is undone, and its error is that of its work, whatever SQLite says then', () => {
  const said: string[] = []
  const exec = (sql: string) => {
    said.push(sql)
    if (sql === 'rollback') throw new Error('no transaction is active')
  }
  const fail = () => {
    throw new Error('no')
  }
  assert.throws(() => new Transactions({ exec } as Database).run('disk', fail), /^Error: no$/)
  assert.deepEqual(said.slice(1), ['begin immediate', 'rollback'])
})
