import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Connection, Database } from './database.ts'
import { reachable } from './reachable.ts'

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

/** A database that fails with an error wherever it is used. */
function failing(error: unknown): Database<string> {
  const fail = () => Promise.reject(error)
  return { query: fail, transaction: fail, listen: fail }
}

const { PGHOST, PGPORT } = process.env
afterEach(() => {
  for (const [name, value] of Object.entries({ PGHOST, PGPORT }))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

describe('a PostgreSQL server that cannot be reached', () => {
  it('is named in one way by each use of it', async () => {
    const database = reachable(failing(REFUSED), { options: { host: 'db', port: 6_000 } })
    const expected = {
      name: 'ConnectionError',
      message: /Cannot reach PostgreSQL at db:6000: connection refused; start PostgreSQL/,
      mayHaveRun: false
    }
    await assert.rejects(database.query('select 1'), expected)
    await assert.rejects(
      database.transaction(async () => {}),
      expected
    )
    await assert.rejects(
      database.listen(
        'c',
        () => {},
        () => {}
      ),
      expected
    )
  })

  it('is where the options of each driver say, without user and password', async () => {
    delete process.env['PGHOST']
    delete process.env['PGPORT']
    const at = async (options: object) => {
      const error: Error = await reachable(failing(REFUSED), { options })
        .query('select 1')
        .then(() => assert.fail(), Object)
      return /at (.*?): connection refused/.exec(error.message)?.[1]
    }
    const places = [
      { connectionString: 'postgres://user:secret@db.example:6543/shop' },
      { connectionString: 'postgres://user:secret@db.example/shop' },
      { path: '/run/postgresql/.s.PGSQL.5432' },
      { host: ['one', 'two'], port: [1, 2] },
      { host: ['one', 'two'], port: [1] },
      { hostname: 'bun' },
      {}
    ]
    const found: unknown[] = []
    for (const place of places) found.push(await at(place))
    assert.deepEqual(found, [
      'db.example:6543',
      'db.example:5432',
      '/run/postgresql/.s.PGSQL.5432',
      'one:1, two:2',
      'one:1, two:1',
      'bun:5432',
      'localhost:5432'
    ])
    process.env['PGHOST'] = 'from.env'
    process.env['PGPORT'] = '7'
    assert.equal(await at({}), 'from.env:7')
  })

  it('is no other error: neither one of PostgreSQL, nor one of the function in a transaction', async () => {
    const other = Object.assign(new Error('no such table'), { code: '42P01' })
    await assert.rejects(reachable(failing(other), {}).query('select 1'), (error) => error === other)
    const connection = {} as Connection
    const database = { ...failing(other), transaction: (run) => run(connection, 'tx') } as Database<string>
    const failed = reachable(database, {}).transaction(() => Promise.reject(REFUSED))
    await assert.rejects(failed, (error) => error === REFUSED)
  })
})
