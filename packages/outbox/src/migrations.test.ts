import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { MIGRATIONS } from './migrations.ts'

/** The beginnings of the digests of all migrations. A change of the tables is a further migration, with another one. */
const DIGESTS = {
  '0001_outbox_and_inbox': '0f0d47bec941626d',
  '0002_mark': 'c3b890770ccde678'
}

it('migrations never change: a database that has run one does not run it again', () => {
  const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
  const found = MIGRATIONS.map(({ name, statements }) => [name, digest(statements)])
  assert.deepEqual(Object.fromEntries(found), DIGESTS)
})
