/** The types of macro definitions. */
import type { RpcError } from '@elysia-microservices/transport'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DeclaredIn, Over } from './declared.ts'
import type { Added, Addition, LocalHooks, OneOrMore } from './hooks.ts'
import type { Message } from './message.ts'
import type { AsStandalone, Empty, EmptyScope, SchemaTypes } from './scope.ts'
import type { MacroErrors, MacroFields, MacroType, StandaloneWith } from './used-macros.ts'

/**
 * The function `fail` of a macro's hooks. Its codes are not checked here, because the compiler knows the declared
 * errors only where the macro is used.
 */
export interface AnyErrors {
  /** Makes a declared error. */
  readonly fail: (code: string, details?: unknown, message?: string) => RpcError
}

/** The definition of a macro: hooks and schemas. */
export interface MacroDefinition<Context> extends LocalHooks<Context, EmptyScope, AnyErrors> {
  /** The hook adds the fields that it returns to the context, before schemas are checked. */
  readonly derive?: OneOrMore<(context: Context & AnyErrors) => Addition>
  /** The hook adds the fields that it returns to the context, after schemas are checked. */
  readonly resolve?: OneOrMore<(context: Context & AnyErrors) => Addition>
  readonly data?: AnySchema
  readonly headers?: AnySchema
  readonly response?: AnySchema
  /** The errors that a pattern declares if it uses the macro. */
  readonly errors?: ErrorDeclarations
}

/** A macro: hooks and schemas, or a function that makes them from the value of the handler's option. */
export type AnyMacro<Extras> =
  | DefinitionWithMacros<Message & Extras>
  | ((value: never) => DefinitionWithMacros<Message & Extras> | undefined)

// With an index signature a definition may have only the names of other macros. Without one it may be an interface.
type DefinitionWithMacros<Context> =
  | MacroDefinition<Context>
  | (MacroDefinition<Context> & Readonly<Record<string, unknown>>)

/** Macros by name. */
export type Macros<Extras> = Readonly<Record<string, AnyMacro<Extras>>>

/** The types of a service's macros. A macro adds what the macros that it uses add, too. */
export type MacroTypes<Given, Earlier> = {
  readonly [Name in keyof Given]: MacroTypeOf<
    Given[Name],
    Over<Earlier, MacroTypes<Pick<Given, UsedBy<Given[Name], Exclude<keyof Given, Name>>>, Earlier>>
  >
}

/** The names of the macros that the definition of a macro uses. */
type UsedBy<Macro, Names> = Names & MembersOf<DefinitionOf<Macro>>

type MembersOf<Definition> = Definition extends unknown ? keyof Definition : never

/** The definition that a macro is, or that it returns. */
type DefinitionOf<Macro> = Macro extends (value: never) => infer Definition ? NonNullable<Definition> : Macro

type MacroTypeOf<Macro, Others> = MacroType<
  Macro extends (value: infer Value) => unknown ? Value : boolean,
  FieldsOf<DefinitionOf<Macro>> & MacroFields<Others, DefinitionOf<Macro>>,
  StandaloneWith<AsStandalone<SchemasIn<DefinitionOf<Macro>>>, Others, DefinitionOf<Macro>>,
  Over<MacroErrors<Others, DefinitionOf<Macro>>, DeclaredIn<DefinitionOf<Macro>>>
>

/**
 * Macros, each with its given type. For a member of a macro that is no hook, schema or macro, and for a wrong value of
 * a macro that it uses, the type that would be right, or a sentence that the compiler shows.
 */
export type KnownMembers<Given, Earlier> = {
  readonly [Name in keyof Given]: Given[Name] extends (value: infer Value) => infer Made
    ? [WrongIn<Made, Given, Earlier>] extends [never]
      ? Given[Name]
      : (value: Value) => Right<NonNullable<Made>, Given, Earlier>
    : Right<Given[Name], Given, Earlier>
}

type Right<Definition, Given, Earlier> = {
  readonly [Member in keyof Definition]: RightMember<Definition[Member], Member, Given, Earlier>
}

type RightMember<Type, Member, Given, Earlier> = Member extends keyof MacroDefinition<unknown>
  ? Type
  : string extends Member // The compiler does not know the names.
    ? Type
    : Member extends keyof Given
      ? ValueFor<Given[Member]>
      : Member extends keyof Earlier
        ? Earlier[Member] extends { readonly value: infer Value }
          ? Value
          : never
        : `'${Member & string}' is neither a hook, nor a schema, nor a macro`

/** The names of the wrong members of a definition. */
type WrongIn<Made, Given, Earlier> = 0 extends 1 & Made
  ? never
  : Made extends object
    ? {
        [Member in keyof Made]: Made[Member] extends RightMember<Made[Member], Member, Given, Earlier>
          ? never
          : Member
      }[keyof Made]
    : never

/** The value that switches a macro on. */
type ValueFor<Macro> = Macro extends (value: infer Value) => unknown ? Value : boolean

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
