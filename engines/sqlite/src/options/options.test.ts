import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, systemClock } from '@elysia-microservices/transport/kit'
import { type SqliteOptions, sqliteOptions } from './options.ts'

describe('options of sqlite()', () => {
  it('have defaults', () => {
    const week = 7 * 24 * 60 * 60 * 1_000
    assert.deepEqual(sqliteOptions('a.db', undefined), {
      ...{ file: 'a.db', maxAge: week, maxBytes: 0, duplicateWindow: 120_000, clock: systemClock }
    })
    const clock = new ManualClock()
    const given = sqliteOptions(':memory:', { maxAge: false, maxBytes: 9, duplicateWindow: 100, clock })
    assert.deepEqual(given, { file: ':memory:', maxAge: 0, maxBytes: 9, duplicateWindow: 100, clock })
  })

  for (const [file, given, message] of [
    [5, {}, /^file must be the name of a file, such as 'events\.db'/],
    ['', {}, /^file must be/],
    ['file:a.db', {}, /'file:a\.db' is an address of a file: give its name/],
    ['a.db', 5, /options must be/],
    ['a.db', { maxAge: 0 }, /options\.maxAge must be/],
    ['a.db', { maxAge: 1_000, duplicateWindow: 2_000 }, /duplicateWindow must not be longer than maxAge/],
    ['a.db', { maxBytes: 0.5 }, /options\.maxBytes must be/],
    ['a.db', { clock: {} }, /options\.clock must be a clock/],
    ['a.db', { ackWait: 1_000 }, /options\.ackWait/]
  ] as const)
    it(`refuse ${JSON.stringify([file, given])}`, () => {
      assert.throws(() => sqliteOptions(file as string, given as unknown as SqliteOptions), {
        name: 'OptionError',
        message
      })
    })
})
