/** The types of macro definitions. */
import type { RpcError } from '@elysia-microservices/transport'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DeclaredIn } from './declared.ts'
import type { Added, LocalHooks, OneOrMore } from './hooks.ts'
import type { Message } from './message.ts'
import type { AsStandalone, Empty, EmptyScope, SchemaTypes } from './scope.ts'
import type { MacroType } from './used-macros.ts'

/**
 * The function `error` of a macro's hooks. Its codes are not checked here, because the compiler knows the declared
 * errors only where the macro is used.
 */
export interface AnyErrors {
  /** Makes a declared error. */
  readonly error: (code: string, details?: unknown, message?: string) => RpcError
}

/** The definition of a macro: hooks and schemas. */
export interface MacroDefinition<Context> extends LocalHooks<Context, EmptyScope, AnyErrors> {
  /** The hook adds the fields that it returns to the context, before schemas are checked. */
  readonly derive?: OneOrMore<(context: Context & AnyErrors) => unknown>
  /** The hook adds the fields that it returns to the context, after schemas are checked. */
  readonly resolve?: OneOrMore<(context: Context & AnyErrors) => unknown>
  readonly data?: AnySchema
  readonly headers?: AnySchema
  readonly response?: AnySchema
  /** The errors that a pattern declares if it uses the macro. */
  readonly errors?: ErrorDeclarations
}

/** Macros by name. A macro that is a function gets the value of the handler's option. */
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
      AsStandalone<SchemasIn<NonNullable<Definition>>>,
      DeclaredIn<NonNullable<Definition>>
    >
  : MacroType<boolean, FieldsOf<Macro>, AsStandalone<SchemasIn<Macro>>, DeclaredIn<Macro>>

type FieldsOf<Definition> = Definition extends unknown
  ? ('derive' extends keyof Definition ? AddedBy<Definition['derive']> : Empty) &
      ('resolve' extends keyof Definition ? AddedBy<Definition['resolve']> : Empty)
  : never

/** The fields that a hook, or a list of hooks, adds. */
type AddedBy<Hooks> =
  Taking<Hooks extends readonly (infer Each)[] ? Each : Hooks> extends (all: infer All) => void ? All : never

/**
 * A union of functions whose parameters are the fields of each hook. A function type that fits all of them has the
 * fields of all hooks as its parameter, so the compiler infers their intersection.
 */
type Taking<Hook> = Hook extends (...args: never[]) => infer Result ? (all: Added<Result>) => void : never

type SchemasIn<Definition> = {
  readonly [Key in keyof SchemaTypes]: Definition extends {
    readonly [K in Key]: infer Schema extends AnySchema
  }
    ? Schema
    : undefined
}
