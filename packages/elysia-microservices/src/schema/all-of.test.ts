/** Several schemas that hold for one value. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { t } from 'elysia'
import fc from 'fast-check'
import { z } from 'zod'
import { jsonSchemaOfAll } from '../description/json-schema.ts'
import { allOf, sourcesOf } from './all-of.ts'
import { mergedValue } from './merged-value.ts'
import { asStandalone, combined, compileSchemas, mergeSchemas } from './message-schema.ts'
import type { AnySchema } from './schema-types.ts'
import { schemasCompiled } from './typebox.ts'

const dataOf = (...schemas: readonly AnySchema[]) =>
  allOf(schemas.map((schema) => compileSchemas({ data: schema }).data!))

describe('several schemas of one part', () => {
  const id = t.Object({ id: t.Number() })
  const name = t.Object({ name: t.String({ default: 'nobody' }) })

  it('refuse what one of them refuses', async () => {
    const check = dataOf(id, name)
    await schemasCompiled()
    assert.throws(() => check({ id: 'x', name: 'Ada' }), { path: 'data.id' })
    assert.throws(() => check({ id: 1, name: 5 }), { path: 'data.name' })
  })

  it('give the properties that one of them knows, with all defaults', async () => {
    const check = dataOf(id, name)
    await schemasCompiled()
    assert.deepEqual(check({ id: 1, other: true }), { id: 1, name: 'nobody' })
  })

  it('of several libraries hold together, also if one of them is asynchronous', async () => {
    const check = dataOf(z.object({ id: z.string().transform(async (text) => Number(text)) }), name)
    await schemasCompiled()
    assert.deepEqual(await check({ id: '7', name: 'Ada' }), { id: 7, name: 'Ada' })
    await assert.rejects(async () => check({ id: '7', name: 5 }), { path: 'data.name' })
    await assert.rejects(async () => check({ id: 7, name: 'Ada' }), { path: 'data.id' })
  })

  it('both hold for a property that both have', async () => {
    const check = dataOf(
      t.Object({ id: t.Number({ minimum: 2 }) }),
      t.Object({ id: t.Number({ maximum: 4 }) })
    )
    await schemasCompiled()
    assert.deepEqual(
      [1, 2, 4, 5].map((id) => isAccepted(() => check({ id }))),
      [false, true, true, false]
    )
  })

  it('give what one of them has decoded', async () => {
    const date = t.Object({ at: t.Date() })
    for (const schemas of [
      [date, t.Object({ at: t.Any() })],
      [t.Object({ at: t.Any() }), date]
    ]) {
      const check = dataOf(...schemas)
      await schemasCompiled()
      assert.deepEqual(check({ at: '2026-01-01T00:00:00.000Z' }), { at: new Date('2026-01-01') })
    }
  })

  it('encode answers each for itself', async () => {
    const responses = [t.Object({ at: t.Date() }), t.Object({ id: t.Number() })].map(
      (response) => compileSchemas({ response }).response!
    )
    await schemasCompiled()
    const at = new Date('2026-01-01')
    assert.deepEqual(allOf(responses)({ at, id: 1, other: 2 }), { at: at.toISOString(), id: 1 })
  })

  it('check each value of one stream, which is read once', async () => {
    const check = dataOf(
      t.AsyncIterator(id),
      t.Any(),
      t.AsyncIterator(t.Object({ name: t.String() })),
      t.AsyncIterator(id)
    )
    await schemasCompiled()
    async function* sent() {
      yield { id: 1, name: 'a', other: 0 }
      yield { id: 2 }
    }
    const values: unknown[] = []
    const reading = async () => {
      for await (const value of check(sent()) as AsyncIterable<unknown>) values.push(value)
    }
    await assert.rejects(reading(), { path: 'data.name' })
    assert.deepEqual(values, [{ id: 1, name: 'a' }])
    assert.throws(() => check({ id: 1, name: 'a' }), { expected: 'a stream' })
  })

  it('are described as schemas that all hold, with all definitions at the root', () => {
    const check = dataOf(
      id,
      t.Recursive((self) => t.Object({ next: t.Optional(self) }), { $id: 'Node' })
    )
    const described = jsonSchemaOfAll(sourcesOf(check), 'input')
    assert.deepEqual(described['allOf'], [
      { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] },
      { $ref: '#/definitions/Node' }
    ])
    assert.deepEqual(Object.keys(Object(described['definitions'])), ['Node'])
  })
})

describe('mergeSchemas', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) =>
    compileSchemas({ data: t.Object({ [name]: t.String() }) })
  ) as [object, object, object]

  it('lets a later schema replace an earlier one, but no standalone one', async () => {
    await schemasCompiled()
    const { data } = combined(mergeSchemas(asStandalone(a), b, c))
    const accepted = [{ a: '' }, { c: '' }, { a: '', b: '' }, { a: '', c: '' }].map((value) =>
      isAccepted(() => data!(value))
    )
    assert.deepEqual(accepted, [false, false, false, true])
  })
})

describe('merged values', () => {
  it('have all that two schemas have left of a value, if nothing was changed', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.string(),
        fc.constant(null),
        tie('list'),
        tie('object')
      ),
      list: fc.array(tie('any'), { maxLength: 3 }),
      object: fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('any'), { maxKeys: 4 })
    })).any
    fc.assert(
      fc.property(value, fc.infiniteStream(fc.boolean()), (given, coins) => {
        const [first, second] = split(given, () => coins.next().value)
        assert.deepEqual(sorted(mergedValue(given, first, second)), sorted(given))
      })
    )
  })
})

/** Two copies of a value; each property is in both of them, or in one of them. */
function split(value: unknown, coin: () => boolean): [unknown, unknown] {
  if (typeof value !== 'object' || value === null) return [value, value]
  if (Array.isArray(value)) {
    const pairs = value.map((item) => split(item, coin))
    return [pairs.map(([one]) => one), pairs.map(([, other]) => other)]
  }
  const first: [string, unknown][] = []
  const second: [string, unknown][] = []
  for (const [key, member] of Object.entries(value)) {
    const [one, other] = split(member, coin)
    if (coin()) {
      first.push([key, one])
      second.push([key, other])
    } else (coin() ? first : second).push([key, member])
  }
  return [Object.fromEntries(first), Object.fromEntries(second)]
}

/** The text of a value, with its properties in the order of their names. */
function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sorted)}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${sorted(member)}`)}}`
}

function isAccepted(check: () => unknown): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}
