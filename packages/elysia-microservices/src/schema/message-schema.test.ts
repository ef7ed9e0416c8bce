import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { ValidationError } from '@elysia-microservices/transport'
import { type } from 'arktype'
import { t } from 'elysia'
import fc from 'fast-check'
import { from, lastValueFrom, type ObservableInput, toArray } from 'rxjs'
import * as v from 'valibot'
import { z } from 'zod'
import { compileSchemas } from './message-schema.ts'
import { ResponseValidationError } from './response-violation.ts'
import type { AnySchema } from './schema-types.ts'
import { schemasCompiled } from './typebox.ts'

const data = (schema: AnySchema) => compileSchemas({ data: schema }).data!
const headers = (schema: AnySchema) => compileSchemas({ headers: schema }).headers!
const response = (schema: AnySchema) => compileSchemas({ response: schema }).response!

const date = t
  .Transform(t.String({ pattern: '^\\d{4}-' }))
  .Decode((text) => new Date(text))
  .Encode((value) => value.toISOString().slice(0, 10))

const VARIANTS = t.Union([
  t.Object({ kind: t.Literal('a'), n: t.Number() }),
  t.Object({ kind: t.Literal('b'), s: t.String() })
])

describe("a schema of Elysia's t for data", () => {
  // The first schema loads the schema compiler. Until it is loaded, checks return promises.
  before(async () => {
    data(t.String())
    await schemasCompiled()
  })

  it('gives what fits as it is', () => {
    assert.deepEqual(data(t.Array(t.Number()))([1, 2]), [1, 2])
    assert.equal(data(t.Union([t.Literal('a'), t.Literal('b')]))('b'), 'b')
  })

  it('decodes and encodes at any depth, in records and tuples, too', () => {
    const day = new Date('2026-02-03')
    const nested: [schema: AnySchema, sent: unknown, value: unknown][] = [
      [t.Record(t.String(), date), { a: '2026-02-03' }, { a: day }],
      [t.Tuple([t.Number(), date]), [1, '2026-02-03'], [1, day]],
      [
        t.Object({ days: t.Array(t.Record(t.String(), t.Tuple([date]))) }),
        { days: [{ a: ['2026-02-03'] }] },
        { days: [{ a: [day] }] }
      ]
    ]
    for (const [schema, sent, value] of nested) {
      assert.deepEqual(data(schema)(sent), value)
      assert.deepEqual(response(schema)(value), sent)
    }
    assert.deepEqual(data(t.Record(t.String(), t.Date()))({ a: day.toISOString() }), { a: day })
    assert.deepEqual(data(t.Record(t.String(), t.Numeric()))({ a: '5' }), { a: 5 })
  })

  it('takes a number for a number, whole or not, and no text', () => {
    assert.equal(data(t.Integer())(5), 5)
    assert.deepEqual(data(t.Object({ n: t.Optional(t.Integer()) }))({}), {})
    assert.deepEqual(data(t.Object({ n: t.Integer({ default: 3 }) }))({}), { n: 3 })
    for (const schema of [t.Integer(), t.Number(), t.Boolean()])
      for (const text of ['5', 'true']) {
        assert.throws(() => data(schema)(text), { path: 'data' })
        assert.throws(() => data(t.Object({ n: t.Array(schema) }))({ n: [text] }), { path: 'data.n[0]' })
        assert.throws(() => response(schema)(text), { path: 'response' })
      }
  })

  it('takes texts by types that are named after them, for data and not for responses', () => {
    const cases: [schema: AnySchema, text: string, value: unknown][] = [
      [t.Numeric({ maximum: 9 }), '5', 5],
      [t.BooleanString(), 'true', true],
      [t.NumericEnum({ A: 1, B: 5 }), '5', 5],
      [t.ObjectString({ n: t.Number() }), '{"n":5}', { n: 5 }],
      [t.ArrayString(t.Number()), '[5]', [5]],
      [t.ArrayQuery(t.Number()), '[5]', [5]]
    ]
    for (const [schema, text, value] of cases) {
      assert.deepEqual(data(schema)(value), value)
      if (schema !== cases.at(-1)?.[0]) assert.deepEqual(data(schema)(text), value)
      assert.deepEqual(response(schema)(value), value)
      assert.deepEqual(response(t.Object({ x: schema as never }))({ x: value }), { x: value })
      assert.throws(() => response(schema)(text), ResponseValidationError, text)
    }
    assert.throws(() => data(t.NumericEnum({ A: 1, B: 5 }))(3), { path: 'data' })
    assert.throws(() => response(t.NumericEnum({ A: 1, B: 5 }))(3), ResponseValidationError)
  })

  it('fills defaults in at any depth, and leaves what it was given alone', () => {
    const check = data(
      t.Object({ page: t.Number({ default: 1 }), of: t.Array(t.Object({ n: t.Number({ default: 2 }) })) })
    )
    const given = { of: [{}] }
    assert.deepEqual(check(given), { page: 1, of: [{ n: 2 }] })
    assert.deepEqual(given, { of: [{}] })
    assert.equal(data(t.Optional(t.String({ default: 'x' })))(undefined), 'x')
  })

  it('takes defaults of every kind, and for an object whose data is missing', () => {
    assert.equal(data(t.Optional(t.BigInt({ minimum: 1n, default: 5n })))(undefined), 5n)
    assert.deepEqual(data(t.Object({ n: t.Number({ default: () => 7 }) }))({}), { n: 7 })
    assert.deepEqual(data(t.Object({ n: t.Number({ default: 1 }) }))(undefined), { n: 1 })
    assert.throws(() => data(t.Object({ n: t.Optional(t.Number()) }))(undefined), { path: 'data' })
  })

  it('drops what it does not name', () => {
    assert.deepEqual(data(t.Object({ a: t.Number() }))({ a: 1, b: 2 }), { a: 1 })
    assert.deepEqual(data(t.Object({ a: t.Number() }, { additionalProperties: true }))({ a: 1, b: 2 }), {
      a: 1,
      b: 2
    })
  })

  it('decodes', () => {
    const check = data(t.Object({ at: date, list: t.Array(t.Object({ at: date })) }))
    assert.deepEqual(check({ at: '2026-01-01', list: [{ at: '2026-01-02' }] }), {
      at: new Date('2026-01-01'),
      list: [{ at: new Date('2026-01-02') }]
    })
    assert.deepEqual(data(t.Date())('2026-01-01T00:00:00.000Z'), new Date('2026-01-01'))
  })

  it('lets optional data be missing', () => {
    assert.equal(data(t.Optional(t.String()))(undefined), undefined)
    assert.throws(() => data(t.String())(undefined), ValidationError)
  })

  for (const [name, schema, value, path, expected, received] of [
    ['a wrong type', t.Number(), 'x', 'data', 'number', "'x'"],
    [
      'deep inside',
      t.Object({ items: t.Array(t.Object({ n: t.Number() })) }),
      { items: [{ n: 1 }, { n: 'b' }] },
      'data.items[1].n',
      'number',
      "'b'"
    ],
    ['missing', t.Object({ a: t.String() }), {}, 'data.a', 'string', 'undefined'],
    ['of an odd name', t.Object({ 'a/b c': t.String() }), { 'a/b c': 1 }, 'data["a/b c"]', 'string', '1'],
    ['with its own words', t.String({ error: 'a name' }), 5, 'data', 'a name', '5'],
    ['nothing at all', t.Object({ a: t.String() }), undefined, 'data', 'object', 'undefined'],
    ['no whole number', t.Object({ n: t.Integer() }), { n: 5.5 }, 'data.n', 'integer', '5.5'],
    ['too small a number', t.Integer({ minimum: 1 }), 0, 'data', 'integer to be greater or equal to 1', '0'],
    ['no text of a number', t.Numeric(), 'a', 'data', 'number', "'a'"],
    ['none of two types', t.Nullable(t.String()), 5, 'data', 'string or null', '5'],
    ['no date', t.Date(), 'x', 'data', 'date or number', "'x'"],
    [
      'none of some texts',
      t.Union([t.Literal('a'), t.Literal('b'), t.Literal(3)]),
      'c',
      'data',
      "'a', 'b' or 3",
      "'c'"
    ],
    ['none of an enum', t.UnionEnum(['a', 'b']), 'c', 'data', "'a' or 'b'", "'c'"],
    ['inside one of several', VARIANTS, { kind: 'a', n: 'x' }, 'data.n', 'number', "'x'"],
    ['of no kind there is', VARIANTS, { kind: 'c' }, 'data.kind', "'a' or 'b'", "'c'"],
    ['none of several', VARIANTS, 5, 'data', 'object', '5'],
    [
      'with its own words for several',
      t.Union([t.String(), t.Null()], { error: 'a name' }),
      5,
      'data',
      'a name',
      '5'
    ]
  ] as const) {
    it(`says where and what: ${name}`, () => {
      assert.throws(
        () => data(schema)(value),
        (error) => {
          assert.ok(error instanceof ValidationError)
          assert.equal(error.path, path)
          assert.equal(error.expected, expected)
          assert.deepEqual(error.details, { path, expected, received })
          return true
        }
      )
    })
  }

  it('says of everything that is wrong where and what, each place once', () => {
    const check = data(
      t.Object({ name: t.String({ minLength: 2 }), of: t.Array(t.Number()), at: t.Boolean() })
    )
    const issues = [
      { path: 'data.at', expected: 'boolean', received: 'undefined' },
      { path: 'data.name', expected: 'string length greater or equal to 2', received: "'x'" },
      { path: 'data.of[0]', expected: 'number', received: "'1'" },
      { path: 'data.of[2]', expected: 'number', received: 'null' }
    ]
    assert.throws(
      () => check({ name: 'x', of: ['1', 2, null] }),
      (error) => {
        assert.ok(error instanceof ValidationError)
        const { issues: own, ...first } = error.details as { issues: unknown }
        assert.deepEqual(error.issues, own)
        assert.deepEqual(first, error.issues[0])
        assert.deepEqual(
          [...error.issues].sort((a, b) => (a.path < b.path ? -1 : 1)),
          issues
        )
        return true
      }
    )
  })

  it('says no more than 32 things of unions in unions, too', () => {
    const nested = t.Recursive((self) =>
      t.Object({ all: t.Array(t.Union([t.Number(), self])) }, { additionalProperties: false })
    )
    const deep = (depth: number): unknown =>
      depth === 0 ? 'x' : { all: Array.from({ length: 40 }, () => deep(depth - 1)) }
    assert.throws(
      () => data(nested)(deep(3)),
      (error) => error instanceof ValidationError && error.issues.length === 32
    )
  })

  it('says no more than 32 things, however many are wrong', () => {
    const many = Array.from({ length: 100_000 }, () => 'x')
    for (const schema of [t.Array(t.Number()), z.array(z.number())])
      assert.throws(
        () => data(schema)(many),
        (error) => error instanceof ValidationError && error.issues.length === 32
      )
  })

  it('says nothing of what a decoder throws', () => {
    const secret = t
      .Transform(t.String())
      .Decode((): string => {
        throw new Error('secret')
      })
      .Encode((value) => value)
    assert.throws(() => data(t.Object({ a: secret }))({ a: 'x' }), {
      name: 'ValidationError',
      message: "data.a: expected a value that can be decoded, received 'x'"
    })
  })

  it('takes any value without failing otherwise than by a ValidationError', () => {
    const check = data(
      t.Object({
        a: t.Optional(t.Array(t.Union([t.String(), t.Object({ b: date })]))),
        c: t.Number({ default: 1 })
      })
    )
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          check(value)
        } catch (error) {
          assert.ok(error instanceof ValidationError, String(error))
        }
      }),
      { numRuns: runs(500) }
    )
  })

  it('checks a channel value by value', async () => {
    const check = data(t.AsyncIterator(t.Object({ n: t.Number() })))
    async function* values() {
      yield { n: 1, more: true }
      yield { n: 'x' }
    }
    const checked = check(values()) as AsyncIterator<unknown>
    assert.deepEqual(await checked.next(), { done: false, value: { n: 1 } })
    await assert.rejects(checked.next(), { name: 'ValidationError', path: 'data.n' })
    assert.throws(() => check(5), { path: 'data', expected: 'a stream' })
  })
})

describe('a Standard Schema', () => {
  const schemas = {
    zod: z.object({ n: z.string().transform(Number) }),
    valibot: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
    arktype: type({ n: 'string.numeric.parse' })
  }
  for (const [name, schema] of Object.entries(schemas)) {
    it(`of ${name} checks and transforms`, async () => {
      const check = data(schema)
      // The first check may be slower, because it finds out whether the schema is synchronous.
      assert.deepEqual(await check({ n: '5' }), { n: 5 })
      assert.deepEqual(check({ n: '5' }), { n: 5 })
      assert.throws(
        () => check({ n: 5 }),
        (error) => {
          assert.ok(error instanceof ValidationError)
          assert.equal(error.path, 'data.n')
          assert.equal(error.message, `data.n: ${error.expected}`)
          assert.equal((error.details as { received: string }).received, '5')
          return true
        }
      )
    })
  }

  it('may be asynchronous', async () => {
    const check = data(z.string().refine(async (text) => text !== 'taken', 'is taken'))
    assert.equal(await check('free'), 'free')
    await assert.rejects(check('taken') as Promise<unknown>, {
      name: 'ValidationError',
      message: 'data: is taken'
    })
  })

  it('of headers and of a response works the same', async () => {
    const both = headers(z.looseObject({ depth: z.coerce.number() }))
    assert.deepEqual(await both({ depth: '3', other: 'x' }), { depth: 3, other: 'x' })
    assert.equal(await response(schemas.zod.shape.n)('5'), 5)
  })

  it('of zod whose asynchronous refinement throws fails its own message, and nothing else', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const down = new Error('the directory is down')
    const check = data(
      z.string().refine(async (text) => {
        if (text === 'bad') throw down
        return text !== 'taken'
      })
    )
    for (const value of ['bad', 'bad', 'free', 'bad', 'free', 'taken', 'bad']) {
      const checked = Promise.resolve(check(value))
      if (value === 'free') assert.equal(await checked, value)
      else await assert.rejects(checked, value === 'bad' ? down : ValidationError)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', note)
    assert.deepEqual(unhandled, [])
  })

  it('that says nothing lets nothing pass', async () => {
    for (const result of [undefined, null, {}, 5, Promise.resolve({})]) {
      const schema = { '~standard': { version: 1, vendor: 'odd', validate: () => result } } as never
      await assert.rejects(async () => data(schema)('x'), TypeError)
    }
  })
})

describe("a schema of Elysia's t for headers", () => {
  it('leaves headers it does not name, also if data have the same schema', () => {
    const schema = t.Object({ id: t.String() })
    const before = structuredClone(schema)
    assert.deepEqual(data(schema)({ id: '1', more: '2' }), { id: '1' })
    assert.deepEqual(headers(schema)({ id: '1', more: '2' }), { id: '1', more: '2' })
    assert.deepEqual(structuredClone(schema), before)
  })

  it('coerces text, and leaves headers it does not name', () => {
    const check = headers(t.Object({ depth: t.Number(), 'x-tenant': t.Optional(t.String()) }))
    assert.deepEqual(check({ depth: '3', traceparent: 'x' }), { depth: 3, traceparent: 'x' })
    assert.throws(() => check({}), { name: 'ValidationError', path: 'headers.depth' })
  })
})

describe("a schema of Elysia's t for the response", () => {
  it('encodes, fills in and drops', () => {
    const check = response(t.Object({ at: date, n: t.Number({ default: 1 }) }))
    assert.deepEqual(check({ at: new Date('2026-01-01'), secret: 1 }), { at: '2026-01-01', n: 1 })
  })

  it('fails with an error that is no answer', async () => {
    for (const value of [{ a: 5 }, undefined, null]) {
      assert.throws(
        () => response(t.Object({ a: t.String() }))(value),
        (error) => error instanceof ResponseValidationError && error.path.startsWith('response')
      )
    }
    assert.throws(() => response(date)('no date'), ResponseValidationError)
    await assert.rejects(async () => response(z.string())(5), {
      name: 'ResponseValidationError',
      received: 5
    })
  })

  it('coerces nothing', () => {
    assert.throws(() => response(t.Number())('5'), ResponseValidationError)
  })
})

describe('compileSchemas', () => {
  it('refuses what is no schema', () => {
    for (const wrong of [{ type: 'string' }, 'order', 7])
      for (const part of ['data', 'headers', 'response'])
        assert.throws(() => compileSchemas({ [part]: wrong as never }), {
          name: 'OptionError',
          path: `options.${part}`
        })
  })
})

describe('a stream that is checked', () => {
  it('stays an Observable', async () => {
    const check = data(t.AsyncIterator(t.Number()))
    assert.deepEqual(
      await lastValueFrom(from(check(from([1, 2])) as ObservableInput<unknown>).pipe(toArray())),
      [1, 2]
    )
  })
})

describe('everything that a Standard Schema finds wrong', () => {
  for (const [name, schema] of Object.entries({
    zod: z.object({ n: z.number(), of: z.array(z.string()) }),
    valibot: v.object({ n: v.number(), of: v.array(v.string()) }),
    arktype: type({ n: 'number', of: 'string[]' })
  }))
    it(`is told, ${name}`, () => {
      assert.throws(
        () => data(schema)({ n: 'x', of: ['a', 5] }),
        (error) => {
          assert.ok(error instanceof ValidationError)
          const [first, ...others] = [...error.issues].sort((a, b) => (a.path < b.path ? -1 : 1))
          assert.deepEqual([first?.path, first?.received], ['data.n', "'x'"])
          assert.deepEqual(
            others.map(({ path, received }) => [path, received]),
            [['data.of[1]', '5']]
          )
          return true
        }
      )
    })
})
