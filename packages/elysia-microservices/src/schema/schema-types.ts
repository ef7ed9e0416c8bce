/** What the compiler knows of a schema: the type of what goes in and of what comes out. */
import type { Static, TSchema, t } from 'elysia'
import type { TTransform } from 'elysia/type-system/types'
import type { StandardSchema } from './standard-schema.ts'

/** Elysia's `t`, or a schema of zod, valibot, arktype and others. */
export type AnySchema = TSchema | StandardSchema

// TypeBox has its types twice, for `import` and for `require`, and a project sees one of them through Elysia.
// So they are taken from Elysia. It does not name the mark of `t.Optional`, which is read off an example.
declare const elysiaTypes: typeof t
// Never called, so that Elysia need not be there.
const example = () => elysiaTypes.Optional(elysiaTypes.String())
type Example = ReturnType<typeof example>
type OptionalSchema = {
  readonly [Key in keyof Example as Key extends symbol
    ? Example[Key] extends 'Optional'
      ? Key
      : never
    : never]: 'Optional'
}

type OrMissing<Schema, Type> = Schema extends OptionalSchema ? Type | undefined : Type

/**
 * The type before decoding: of `t.Transform` the type that it decodes, at any depth. Most schemas are of objects: they come
 * first, and by the same `Static` that the handler's side has, so that the compiler has it already.
 */
type Encoded<Schema extends TSchema> = Schema extends { readonly properties: infer Properties }
  ? {
      [Key in keyof Static<Schema>]: Key extends keyof Properties
        ? EncodedOption<Properties[Key]>
        : Static<Schema>[Key]
    }
  : Schema extends TTransform<infer Input, infer _Output>
    ? Encoded<Input>
    : Schema extends { readonly type: 'array'; readonly items: infer Items extends TSchema }
      ? Encoded<Items>[]
      : Schema extends { readonly anyOf: readonly (infer Option)[] }
        ? EncodedOption<Option>
        : Static<Schema>

type EncodedOption<Option> = Option extends TSchema ? Encoded<Option> : never

type StandardSide<Schema, Side extends 'input' | 'output'> = Schema extends {
  readonly '~standard': { readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly [Key in Side]: infer Type }
    ? Type
    : unknown
  : unknown

/** What is sent, for a schema of data or headers. */
export type InputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, Encoded<Schema>>
  : StandardSide<Schema, 'input'>

/** What the handler gets, for a schema of data or headers. */
export type OutputOf<Schema> = Schema extends TSchema
  ? OrMissing<Schema, Static<Schema>>
  : StandardSide<Schema, 'output'>

/** What the handler returns, for a schema of the response: TypeBox encodes it, a Standard Schema takes it in. */
export type ReturnOf<Schema> = Schema extends TSchema ? OutputOf<Schema> : InputOf<Schema>

/** What the caller gets, for a schema of the response. */
export type AnswerOf<Schema> = Schema extends TSchema ? InputOf<Schema> : OutputOf<Schema>
