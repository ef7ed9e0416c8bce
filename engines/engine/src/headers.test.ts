import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkHeaders, checkRecord, joinedHeaders } from './headers.ts'

it('headers that an engine cannot carry are refused with its reason', () => {
  const engine = {
    title: 'TEST',
    whyNoHeader: (name: string, value: string | readonly string[]) =>
      name.startsWith('own-') || [value].flat().includes('') ? 'is of no use' : undefined
  }
  checkHeaders(engine, { a: 'b', c: ['d', 'e'] })
  checkHeaders({ title: 'TEST' }, { 'own-a': '' })
  for (const headers of [{ [`own-${'x'.repeat(400)}`]: 'a' }, { a: 'b', c: ['d', ''] }])
    assert.throws(() => checkHeaders(engine, headers), {
      name: 'OptionError',
      message: /^options\.headers\["(own-x{296}|c)"\] cannot be a header of TEST: it is of no use$/
    })
})

it('headers of a record that belong to this library are refused', () => {
  assert.throws(() => checkRecord({ a: 'b', 'elysia-x': 'c' }), {
    name: 'OptionError',
    message: /^options\.headers\["elysia-x"\] is a reserved name: elysia-\* are this library's own headers$/
  })
})

it('several values of a header are one, with commas between', () => {
  assert.deepEqual(joinedHeaders({ a: 'b', c: ['d', 'e'] }), { a: 'b', c: 'd, e' })
})
