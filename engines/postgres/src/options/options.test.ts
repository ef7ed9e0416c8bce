import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type PostgresOptions, postgresOptions } from './options.ts'

const sql = (() => {}) as never

describe('options of postgres()', () => {
  it('have defaults', () => {
    const week = 7 * 24 * 60 * 60 * 1_000
    assert.deepEqual(postgresOptions({ sql }), {
      ...{ sql, schema: 'elysia_microservices', maxAge: week, maxBytes: 0, duplicateWindow: 120_000 },
      ...{ ackWait: 30_000, pollInterval: 1_000 }
    })
    const given = { sql, schema: 'shop', duplicateWindow: 100, ackWait: 500, pollInterval: 10 }
    assert.deepEqual(postgresOptions({ ...given, maxAge: false, maxBytes: 5 }), {
      ...given,
      maxAge: 0,
      maxBytes: 5
    })
  })

  for (const [given, message] of [
    [5, /options must be/],
    [{ schema: 'pg_own' }, /options\.schema must be a name of lower-case letters/],
    [{ schema: 'a"b' }, /options\.schema must be/],
    [{ maxAge: 0 }, /options\.maxAge must be/],
    [{ maxAge: 1_000, duplicateWindow: 2_000 }, /duplicateWindow must not be longer than maxAge/],
    [{ duplicateWindow: 99 }, /options\.duplicateWindow must be/],
    [{ ackWait: 499 }, /options\.ackWait must be/],
    [{ pollInterval: 9 }, /options\.pollInterval must be/],
    [{ maxBytes: 0 }, /options\.maxBytes must be/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      const options = typeof given === 'object' ? { sql, ...given } : given
      assert.throws(() => postgresOptions(options as unknown as PostgresOptions), {
        name: 'OptionError',
        message
      })
    })
})
