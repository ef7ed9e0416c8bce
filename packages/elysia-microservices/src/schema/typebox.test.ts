import assert from 'node:assert/strict'
import { extname } from 'node:path'
import { it } from 'node:test'
import { t } from 'elysia'

it('a schema that cannot be compiled is reported each time, and the others are checked', async () => {
  // A module of its own: in this one the compiler may be loaded already.
  const fresh = `./typebox${extname(import.meta.url)}?fresh`
  const { lazyTypeBoxCheck, schemasCompiled } = (await import(fresh)) as typeof import('./typebox.ts')
  const unknown = { ...t.String(), [Symbol.for('TypeBox.Kind')]: 'Nobody knows this' }
  const broken = lazyTypeBoxCheck(unknown as never, 'data')
  const sound = lazyTypeBoxCheck(t.Number(), 'data')
  for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(schemasCompiled())
  await assert.rejects(async () => broken('x'))
  assert.equal(await sound(1), 1)
  await assert.rejects(async () => sound('one'), { name: 'SchemaViolation' })
})
