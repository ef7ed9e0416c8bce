import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DatabaseSql } from './database/adapter.ts'
import { inbox } from './inbox.ts'

/** The `sql` of postgres.js over a table with these ids, and the statements that it was asked. */
function sqlOver(ids: readonly string[]) {
  const asked: unknown[][] = []
  const unsafe = async (text: string, values?: readonly unknown[]) => {
    asked.push([text.split(' ')[0], ...(values ?? [])])
    return text.startsWith('insert') && !ids.includes(String(values?.[1])) ? [{}] : []
  }
  const tagged = () => Object.assign(() => {}, { unsafe })
  const begin = (_isolation: string, run: (transaction: unknown) => unknown) => run(tagged())
  return { sql: Object.assign(tagged(), { begin }) as unknown as DatabaseSql, asked }
}

it('an inbox runs a handler once for an id, and checks before the end that its transaction can be committed', async () => {
  const { sql, asked } = sqlOver(['known'])
  const handled: string[] = []
  const box = inbox(sql, 'a name')
  for (const id of ['new', 'known']) assert.equal(await box.once(id, () => handled.push(id)), id === 'new')
  assert.deepEqual(handled, ['new'])
  assert.deepEqual(asked, [['insert', 'a name', 'new'], ['select'], ['insert', 'a name', 'known']])
})

it('an inbox refuses names and ids that PostgreSQL cannot store, and what is no handler', async () => {
  const { sql } = sqlOver([])
  assert.throws(() => inbox(sql, 'a\u0000b'), { name: 'OptionError' })
  assert.throws(() => inbox(sql, 'a', { scheme: 'x' } as never), { name: 'OptionError' })
  const box = inbox(sql, 'a')
  await assert.rejects(
    box.once('a\u0000b', () => {}),
    { name: 'OptionError' }
  )
  await assert.rejects(box.once('a', 7 as never), {
    name: 'OptionError',
    message: /handler must be a function/
  })
})
