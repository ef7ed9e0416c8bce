/** The types of macros, where they are defined. */
import type { RpcError } from '@elysia-microservices/transport'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DeclaredIn } from './declared.ts'
import type { Added, LocalHooks, OneOrMore } from './hooks.ts'
import type { Message } from './message.ts'
import type { Empty, EmptyScope, SchemaTypes } from './scope.ts'
import type { MacroType } from './used-macros.ts'

/** The function `error` of a macro's hooks. Which errors there are, the compiler learns when the macro is used. */
export interface AnyErrors {
  /** Makes an error of the contract. */
  readonly error: (code: string, details?: unknown, message?: string) => RpcError
}

/** Definition of a macro: hooks and schemas. */
export interface MacroDefinition<Context> extends LocalHooks<Context, EmptyScope, AnyErrors> {
  /** Adds the fields that it returns to the context, before schemas. */
  readonly derive?: OneOrMore<(context: Context & AnyErrors) => unknown>
  /** Adds the fields that it returns to the context, after schemas. */
  readonly resolve?: OneOrMore<(context: Context & AnyErrors) => unknown>
  readonly data?: AnySchema
  readonly headers?: AnySchema
  readonly response?: AnySchema
  /** Errors that become part of the contract of the patterns that use the macro. */
  readonly errors?: ErrorDeclarations
}

/** Macros by name; one that is a function gets the value that a handler gives for it. */
export type Macros<Extras> = Readonly<
  Record<
    string,
    MacroDefinition<Message & Extras> | ((value: never) => MacroDefinition<Message & Extras> | undefined)
  >
>

/** The types of a service's macros. */
export type MacroTypes<Given> = { readonly [Name in keyof Given]: MacroTypeOf<Given[Name]> }

type MacroTypeOf<Macro> = Macro extends (value: infer Value) => infer Definition
  ? MacroType<
      Value,
      FieldsOf<NonNullable<Definition>>,
      SchemasIn<NonNullable<Definition>>,
      DeclaredIn<NonNullable<Definition>>
    >
  : MacroType<boolean, FieldsOf<Macro>, SchemasIn<Macro>, DeclaredIn<Macro>>

type FieldsOf<Definition> = Definition extends unknown
  ? ('derive' extends keyof Definition ? AddedBy<Definition['derive']> : Empty) &
      ('resolve' extends keyof Definition ? AddedBy<Definition['resolve']> : Empty)
  : never

/** The fields that one hook adds, or several do. */
type AddedBy<Hooks> =
  Taking<Hooks extends readonly (infer Each)[] ? Each : Hooks> extends (all: infer All) => void ? All : never

/** Functions that take what each hook adds: a function that is all of them takes all of it. */
type Taking<Hook> = Hook extends (...args: never[]) => infer Result ? (all: Added<Result>) => void : never

type SchemasIn<Definition> = {
  readonly [Key in keyof SchemaTypes]: Definition extends {
    readonly [K in Key]: infer Schema extends AnySchema
  }
    ? Schema
    : undefined
}
