/** What the compiler knows of schemas. The assertions are types: a wrong one does not compile. */
import { describe, it } from 'node:test'
import { type } from 'arktype'
import { t } from 'elysia'
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

describe('the types of schemas', () => {
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
