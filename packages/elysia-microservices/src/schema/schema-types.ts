/** The types that a schema describes: of its input values and of its output values. */
import type { TSchema, t } from 'elysia'
import type { TTransform } from 'elysia/type-system/types'
import type { StandardSchema } from './standard-schema.ts'

/** A schema of Elysia's `t`, or of zod, valibot, arktype and others. */
export type AnySchema = TSchema | StandardSchema

// TypeBox has two sets of types, for `import` and for `require`, and a project sees one of the two through Elysia.
// So all types are taken from Elysia. Elysia does not export the types of the marks of `t.Optional` and
// `t.Readonly`, so they are inferred from examples. The examples are types and not values, because for values the
// compiler would write names of TypeBox into the declarations of this package.
type Marked<Example, Mark> = {
  readonly [Key in keyof Example as Key extends symbol
    ? Example[Key] extends Mark
      ? Key
      : never
    : never]: Mark
}
// These are interfaces, because the compiler does not go through an interface at each place that names it.
interface OptionalSchema extends Marked<ReturnType<typeof t.Optional>, 'Optional'> {}
interface ReadonlySchema extends Marked<ReturnType<typeof t.Readonly>, 'Readonly'> {}

type OrMissing<Schema, Type> = Schema extends OptionalSchema ? Type | undefined : Type

/**
 * The form of a value that a type describes: `sent` are all forms that a caller may send, `decoded` is the form after
 * decoding, and `encoded` the form of an answer. They differ wherever the schema has a `t.Transform` or a `t.Date`, at
 * any depth.
 */
type Side = 'sent' | 'decoded' | 'encoded'

/**
 * The type of a schema's values. For an object TypeBox's own `Static` makes eight types, one for each way to mark a
 * property, which costs the compiler as much time as the rest of a pattern. Most schemas are objects, so their
 * types are made here instead.
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
    : Encoded<Schema, On>

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

/** An object with read-only properties, made from TypeBox's own type, which keeps the marks. */
type ReadonlyObjectOn<Static, Properties, On extends Side> = Flat<{
  [Key in keyof Static]: Key extends keyof Properties ? OptionOn<Properties[Key], On> : Static[Key]
}>

type OptionOn<Option, On extends Side> = Option extends TSchema ? TypeOn<Option, On> : never

/** Makes one object type of an intersection, so that editors show its fields and not the name of an alias. */
type Flat<Type> = Type extends infer All ? { [Key in keyof All]: All[Key] } : never

/** The type before decoding, for schemas that are not objects. */
type Encoded<Schema extends TSchema, On extends Side> =
  Schema extends TTransform<infer Input, infer _Output>
    ? TypeOn<Input, On>
    : Schema extends { readonly type: 'array'; readonly items: infer Items extends TSchema }
      ? TypeOn<Items, On>[]
      : Schema extends { readonly anyOf: readonly (infer Option)[] }
        ? OptionOn<Option, On>
        : Schema extends { readonly type: 'date' }
          ? DateOn[On & keyof DateOn]
          : Schema['static']

/** `t.Date` reads texts and milliseconds, too, and writes texts. */
interface DateOn {
  readonly sent: Date | string | number
  readonly encoded: string
}

type StandardSide<Schema, Side extends 'input' | 'output'> = Schema extends {
  readonly '~standard': { readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly [Key in Side]: infer Type }
    ? Type
    : unknown
  : unknown

/** The type of the data or headers that callers send, by their schema. */
export type InputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, TypeOn<Schema, 'sent'>>
  : StandardSide<Schema, 'input'>

/** The type of the data or headers that the handler gets, by their schema. */
export type OutputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, TypeOn<Schema, 'decoded'>>
  : StandardSide<Schema, 'output'>

/**
 * The type of the response that the handler returns. TypeBox encodes this value; for a Standard Schema it is the
 * input.
 */
export type ReturnOf<Schema> = Schema extends TSchema ? OutputOf<Schema> : InputOf<Schema>

/** The type of the response that the caller gets, by its schema. */
export type AnswerOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, TypeOn<Schema, 'encoded'>>
  : OutputOf<Schema>
