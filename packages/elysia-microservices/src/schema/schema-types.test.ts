/** The types of schemas. The assertions are about types: a wrong type does not compile. */
import { describe, it } from 'node:test'
import { type } from 'arktype'
import { type Static, type TSchema, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import * as v from 'valibot'
import { z } from 'zod'
import type { AnswerOf, AnySchema, InputOf, OutputOf, ReturnOf } from './schema-types.ts'

const date = t
  .Transform(t.String())
  .Decode((text) => new Date(text))
  .Encode((value) => value.toISOString())
const object = t.Object({
  date,
  list: t.Array(date),
  deep: t.Object({ date }),
  maybe: t.Optional(date),
  either: t.Union([date, t.Null()]),
  n: t.Optional(t.Number())
})
const missing = t.Optional(t.String())
const literals = t.Union([t.Literal('a'), t.Literal('b')])
const stream = t.AsyncIterator(t.Number())
const record = t.Record(t.String(), t.Number())
const zod = z.object({ a: z.string().transform(Number) })
const valibot = v.pipe(v.string(), v.transform(Number))
const arktype = type({ a: 'string.numeric.parse' })

interface Wire {
  date: string
  list: string[]
  deep: { date: string }
  maybe?: string
  either: string | null
  n?: number
}
interface Decoded {
  date: Date
  list: Date[]
  deep: { date: Date }
  maybe?: Date
  either: Date | null
  n?: number
}

const plain = t.Object({ id: t.Number(), tags: t.Array(t.String()) })
const SAME = {
  plain,
  optional: t.Object({ id: t.Number(), name: t.Optional(t.String()), on: t.Optional(t.Boolean()) }),
  allOptional: t.Object({ name: t.Optional(t.String()) }),
  empty: t.Object({}),
  fixed: t.Object({ id: t.Readonly(t.Number()), name: t.Optional(t.String()) }),
  fixedOptional: t.Object({ id: t.Readonly(t.Optional(t.Number())), rest: t.Number() }),
  numbers: t.Object({ 1: t.String(), 2: t.Optional(t.String()) }),
  deep: t.Object({ plain, list: t.Array(plain), maybe: t.Optional(t.Object({ a: t.Optional(t.Number()) })) }),
  union: t.Union([plain, t.Object({ code: t.Literal('a') })]),
  intersection: t.Intersect([plain, t.Object({ code: t.Optional(t.String()) })]),
  composite: t.Composite([plain, t.Object({ code: t.Optional(t.String()) })]),
  partial: t.Partial(plain),
  required: t.Required(t.Object({ name: t.Optional(t.String()) })),
  pick: t.Pick(plain, ['id']),
  omit: t.Omit(plain, ['id']),
  tuple: t.Tuple([plain, t.Number()]),
  record: t.Record(t.String(), plain),
  tree: t.Recursive((self) => t.Object({ id: t.Number(), children: t.Array(self) })),
  unsafe: t.Unsafe<{ readonly a: 1 }>({ type: 'object' }),
  nullable: t.Object({ a: t.Nullable(t.String()), b: t.Optional(t.Nullable(plain)) }),
  own: t.Object({ file: t.File(), at: t.Date(), page: t.Numeric(), kind: t.UnionEnum(['a', 'b']) }),
  any: t.Object({ a: t.Any(), b: t.Optional(t.Unknown()), c: t.Never() }),
  function: t.Object({ call: t.Function([t.Number()], t.String()) })
}
type SameAsStatic = { [Name in keyof typeof SAME]: Static<(typeof SAME)[Name]> }
type SameAsOurs = { [Name in keyof typeof SAME]: OutputOf<(typeof SAME)[Name]> }

describe('the types of schemas', () => {
  it('are those of TypeBox', () => {
    expectTypeOf<SameAsOurs>().toEqualTypeOf<SameAsStatic>()
    expectTypeOf<OutputOf<TSchema>>().toEqualTypeOf<unknown>()
    expectTypeOf<OutputOf<ReturnType<typeof t.Object>>>().toEqualTypeOf<Static<ReturnType<typeof t.Object>>>()
  })

  it("of Elysia's t tell what is sent from what is decoded", () => {
    expectTypeOf<InputOf<typeof object>>().toEqualTypeOf<Wire>()
    expectTypeOf<OutputOf<typeof object>>().toEqualTypeOf<Decoded>()
    expectTypeOf<ReturnOf<typeof object>>().toEqualTypeOf<Decoded>()
    expectTypeOf<AnswerOf<typeof object>>().toEqualTypeOf<Wire>()
    expectTypeOf<InputOf<typeof date>>().toEqualTypeOf<string>()
    expectTypeOf<InputOf<typeof missing>>().toEqualTypeOf<string | undefined>()
    expectTypeOf<InputOf<typeof literals>>().toEqualTypeOf<'a' | 'b'>()
    expectTypeOf<InputOf<typeof stream>>().toEqualTypeOf<AsyncIterableIterator<number>>()
    expectTypeOf<InputOf<typeof record>>().toEqualTypeOf<Record<string, number>>()
  })

  it('of other libraries tell what goes in from what comes out', () => {
    expectTypeOf<InputOf<typeof zod>>().toEqualTypeOf<{ a: string }>()
    expectTypeOf<OutputOf<typeof zod>>().toEqualTypeOf<{ a: number }>()
    expectTypeOf<ReturnOf<typeof zod>>().toEqualTypeOf<{ a: string }>()
    expectTypeOf<AnswerOf<typeof zod>>().toEqualTypeOf<{ a: number }>()
    expectTypeOf<InputOf<typeof valibot>>().toEqualTypeOf<string>()
    expectTypeOf<OutputOf<typeof valibot>>().toEqualTypeOf<number>()
    expectTypeOf<OutputOf<typeof arktype>>().toEqualTypeOf<{ a: number }>()
    expectTypeOf([date, object, missing, zod, valibot, arktype]).toExtend<AnySchema[]>()
  })
})
