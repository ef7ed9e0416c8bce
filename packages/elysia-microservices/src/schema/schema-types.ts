/** The types of a schema: of the values that go in and of those that come out. */
import type { TSchema, t } from 'elysia'
import type { TTransform } from 'elysia/type-system/types'
import type { StandardSchema } from './standard-schema.ts'

/** Elysia's `t`, or a schema of zod, valibot, arktype and others. */
export type AnySchema = TSchema | StandardSchema

// TypeBox has its types twice, for `import` and for `require`, and a project sees one of them through Elysia.
// So they are taken from Elysia. It does not name the marks of `t.Optional` and `t.Readonly`, which are read off examples:
// in types alone, because the compiler would write those of values into our declarations by TypeBox's name.
type Marked<Example, Mark> = {
  readonly [Key in keyof Example as Key extends symbol
    ? Example[Key] extends Mark
      ? Key
      : never
    : never]: Mark
}
// Interfaces, which the compiler need not go through wherever they stand.
interface OptionalSchema extends Marked<ReturnType<typeof t.Optional>, 'Optional'> {}
interface ReadonlySchema extends Marked<ReturnType<typeof t.Readonly>, 'Readonly'> {}

type OrMissing<Schema, Type> = Schema extends OptionalSchema ? Type | undefined : Type

/** Where a type stands: before decoding, as it is sent, or after it. They differ by `t.Transform`, at any depth. */
type Side = 'encoded' | 'decoded'

/**
 * The type of a schema. Of objects, which most schemas are, TypeBox's own `Static` makes eight types, one for each way to
 * mark a property, and the compiler works as long on them as on all else of a pattern. So objects are made here.
 */
type TypeOn<Schema extends TSchema, On extends Side> = Schema extends {
  readonly properties: infer Properties
}
  ? string extends keyof Properties
    ? Schema['static']
    : [ReadonlyKeys<Properties>] extends [never]
      ? ObjectOn<Properties, On>
      : ReadonlyObjectOn<Schema['static'], Properties, On>
  : On extends 'decoded'
    ? Schema['static']
    : Encoded<Schema>

type ReadonlyKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends ReadonlySchema ? Key : never
}[keyof Properties]

type OptionalKeys<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends OptionalSchema ? Key : never
}[keyof Properties]

type ObjectOn<Properties, On extends Side> = [OptionalKeys<Properties>] extends [never]
  ? { [Key in keyof Properties]: OptionOn<Properties[Key], On> }
  : Flat<
      FieldsOn<Properties, Exclude<keyof Properties, OptionalKeys<Properties>>, On> &
        Partial<FieldsOn<Properties, OptionalKeys<Properties>, On>>
    >

type FieldsOn<Properties, Keys extends keyof Properties, On extends Side> = {
  [Key in Keys]: OptionOn<Properties[Key], On>
}

/** By TypeBox's own type, which has the marks. */
type ReadonlyObjectOn<Static, Properties, On extends Side> = Flat<{
  [Key in keyof Static]: Key extends keyof Properties ? OptionOn<Properties[Key], On> : Static[Key]
}>

type OptionOn<Option, On extends Side> = Option extends TSchema ? TypeOn<Option, On> : never

/** One object, which editors show as it is: they would show a mere alias by its name. */
type Flat<Type> = Type extends infer All ? { [Key in keyof All]: All[Key] } : never

/** Of what is no object, the type before decoding. */
type Encoded<Schema extends TSchema> =
  Schema extends TTransform<infer Input, infer _Output>
    ? TypeOn<Input, 'encoded'>
    : Schema extends { readonly type: 'array'; readonly items: infer Items extends TSchema }
      ? TypeOn<Items, 'encoded'>[]
      : Schema extends { readonly anyOf: readonly (infer Option)[] }
        ? OptionOn<Option, 'encoded'>
        : Schema['static']

type StandardSide<Schema, Side extends 'input' | 'output'> = Schema extends {
  readonly '~standard': { readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly [Key in Side]: infer Type }
    ? Type
    : unknown
  : unknown

/** The data or headers that callers send, by their schema. */
export type InputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, TypeOn<Schema, 'encoded'>>
  : StandardSide<Schema, 'input'>

/** The data or headers that the handler gets, by their schema. */
export type OutputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, TypeOn<Schema, 'decoded'>>
  : StandardSide<Schema, 'output'>

/** The response that the handler returns, by its schema: TypeBox encodes it, a Standard Schema takes it in. */
export type ReturnOf<Schema> = Schema extends TSchema ? OutputOf<Schema> : InputOf<Schema>

/** The response that the caller gets, by its schema. */
export type AnswerOf<Schema> = Schema extends TSchema ? InputOf<Schema> : OutputOf<Schema>
