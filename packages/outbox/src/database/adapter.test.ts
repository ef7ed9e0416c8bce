/** The driver to which a user's `sql` belongs, and how it is used. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { databaseOf, transactionOf } from './adapter.ts'

const asked: unknown[][] = []
const ask = async (...given: unknown[]) => {
  asked.push(given)
  return []
}
const tagged = (more = {}) => Object.assign(() => {}, { unsafe: ask, ...more })
const pg = (more = {}) => ({ query: async (...given: unknown[]) => ({ rows: await ask(...given) }), ...more })

/** Values of each kind, as drivers give them. */
const SQL = {
  tagged: tagged({ begin() {} }),
  'tagged in a transaction': tagged({ begin() {}, savepoint() {} }),
  'tagged and reserved': tagged({ begin() {}, release() {} }),
  'pool of pg': pg({ totalCount: 0, connect() {} }),
  'client of pg': pg(),
  'client of pg in a transaction': pg({ getTransactionStatus: () => 'T' }),
  'idle client of pg': pg({ getTransactionStatus: () => 'I' }),
  'prisma in a transaction': { $queryRawUnsafe: ask },
  prisma: { $queryRawUnsafe: ask, $transaction() {} },
  nothing: {}
} as const

const refusal = (find: (sql: never) => unknown, sql: object) => {
  try {
    find(sql as never)
    return undefined
  } catch (error) {
    assert.equal((error as Error).name, 'OptionError')
    return (error as Error).message
  }
}

describe('the sql of a user', () => {
  for (const [name, expected] of [
    ['tagged', undefined],
    ['pool of pg', undefined],
    ['tagged in a transaction', /is a single connection/],
    ['tagged and reserved', /is a single connection/],
    ['client of pg', /is a single connection/],
    ['prisma', /must be a database of postgres\.js, of pg or of Bun/],
    ['nothing', /must be a database of postgres\.js, of pg or of Bun/]
  ] as const)
    it(`that is ${name} is ${expected === undefined ? 'a database' : 'none, and the error says why'}`, () => {
      const found = refusal(databaseOf, SQL[name])
      if (expected === undefined) assert.equal(found, undefined)
      else assert.match(found ?? '', expected)
    })

  for (const [name, expected] of [
    ['tagged', /^sql is not in a transaction/],
    ['pool of pg', /^sql is a pool/],
    ['idle client of pg', /^sql is a client without an open transaction/],
    ['prisma', /^sql is a client of Prisma without a transaction/],
    ['nothing', /must be a transaction of postgres\.js, of pg or of Bun/]
  ] as const)
    it(`that is ${name} is no transaction, and the error says why`, () => {
      assert.match(refusal(transactionOf, SQL[name]) ?? '', expected)
    })

  for (const name of [
    'tagged in a transaction',
    'tagged and reserved',
    'client of pg',
    'client of pg in a transaction',
    'prisma in a transaction'
  ] as const)
    it(`that is ${name} is a transaction, and is asked with text and values`, async () => {
      asked.length = 0
      const connection = transactionOf(SQL[name] as never)
      assert.deepEqual(await connection.query('select $1', ['a']), [])
      const values = name.startsWith('prisma') ? ['a'] : [['a']]
      assert.deepEqual(asked, [['select $1', ...values]])
    })
})
