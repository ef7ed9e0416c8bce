/** The types of macros in the options of handlers and guards. */
import type { HookScope } from '../hooks/hook.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DeclaredIn, Over } from './declared.ts'
import type { Empty, NoSchemas, Or, Reached, SchemaTypes, ScopeTypes } from './scope.ts'

/** A macro of a service: the type of its value in options, and the fields and schemas that it adds. */
export interface MacroType<Value, Fields, Schema, Errors = Empty> {
  readonly value: Value
  /** The fields that the macro's `derive` and `resolve` return. */
  readonly fields: Fields
  readonly schema: Schema
  /** The errors that the macro declares. */
  readonly errors: Errors
}

/** The options that macros add. */
export type MacroValues<Types> = [keyof Types] extends [never]
  ? unknown
  : {
      readonly [Name in keyof Types]?: Types[Name] extends { readonly value: infer Value } ? Value : never
    }

/**
 * The names of the macros that options use. A macro that may be switched off is left out, because its fields may be
 * missing.
 */
type UsedIn<Types, Used> = {
  [Name in keyof Types & keyof Used]: [Extract<Used[Name], false | undefined>] extends [never] ? Name : never
}[keyof Types & keyof Used]

/**
 * The fields that the macros in options add to the context of a handler. Most services have no macros. For these,
 * this type and the following ones do not look at the handler's options, which saves the compiler work.
 */
export type MacroFields<Types, Used> = [keyof Types] extends [never]
  ? unknown
  : {
        [Name in UsedIn<Types, Used>]: (all: PartOf<Types[Name], 'fields'>) => void
      }[UsedIn<Types, Used>] extends (all: infer All) => void
    ? All
    : never

/** The errors that the macros in options declare. */
export type MacroErrors<Types, Used> = [keyof Types] extends [never]
  ? Empty
  : [UsedIn<Types, Used>] extends [never]
    ? Empty
    : {
          [Name in UsedIn<Types, Used>]: (all: PartOf<Types[Name], 'errors'>) => void
        }[UsedIn<Types, Used>] extends (all: infer All) => void
      ? All
      : never

/** The schemas of guards, or those of the macros in options, which replace them. */
export type SchemasWith<Guard extends SchemaTypes, Types, Used> = [keyof Types] extends [never]
  ? Guard
  : [UsedIn<Types, Used>] extends [never]
    ? Guard
    : { readonly [Key in keyof SchemaTypes]: SchemaOr<SchemaOf<Types[UsedIn<Types, Used>], Key>, Guard[Key]> }

type SchemaOr<Schema, Guard> = [Schema] extends [never] ? Guard : Schema

type SchemaOf<Macro, Key extends keyof SchemaTypes> = Extract<PartOf<PartOf<Macro, 'schema'>, Key>, AnySchema>

type PartOf<Type, Key extends string> = Type extends { readonly [K in Key]: infer Part } ? Part : never

/**
 * Options by name, each with its given type. For a name that is neither an option nor a macro, and for a value that
 * is not a schema, a sentence that the compiler shows.
 */
export type UsedOptions<Used, Known> = {
  readonly [Name in keyof Used]: Name extends Known
    ? Name extends keyof SchemaTypes
      ? Used[Name] extends AnySchema | string | undefined
        ? Used[Name]
        : 'This is not a schema: the schema of an object is t.Object({ … })'
      : Used[Name]
    : UnknownOption<Name>
}

type UnknownOption<Name> = Name extends 'body' | 'query' | 'params'
  ? `A message has no ${Name}: the schema of what callers send is 'data'`
  : Name extends 'parse' | 'transform' | 'mapResponse' | 'detail' | 'tags' | 'type'
    ? `A message has no ${Name}: it is not an HTTP request`
    : `There is no option '${Name & string}', and no macro of that name`

/**
 * A scope with the additions of a guard: schemas, which replace the schemas of earlier guards, and the fields of
 * macros.
 */
export type Guarded<Scope extends ScopeTypes, Data, Headers, Response, Used, As extends HookScope> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'schema'
    ? GuardSchemas<SchemasWith<Scope['schema'], Scope['macros'], Used>, Data, Headers, Response>
    : Key extends 'guarded'
      ? Over<Scope['guarded'], GuardErrors<Scope, Used>>
      : Key extends 'above'
        ? GuardsAbove<Scope, Data, Headers, Response, Used, As>
        : Key extends As
          ? Scope[Key] & MacroFields<Scope['macros'], Used>
          : Scope[Key]
}

/** The errors that the options of a guard declare. */
type GuardErrors<Scope extends ScopeTypes, Used> = Over<MacroErrors<Scope['macros'], Used>, DeclaredIn<Used>>

/** The parts of guards that apply to services above, with one more guard. */
type GuardsAbove<
  Scope extends ScopeTypes,
  Data,
  Headers,
  Response,
  Used,
  As extends HookScope
> = As extends 'local'
  ? Scope['above']
  : {
      readonly [Each in 'scoped' | 'global']: Each extends As
        ? Reached<
            Scope['above'][Each],
            {
              readonly schema: GuardSchemas<
                SchemasWith<NoSchemas, Scope['macros'], Used>,
                Data,
                Headers,
                Response
              >
              readonly guarded: GuardErrors<Scope, Used>
            }
          >
        : Scope['above'][Each]
    }

/** The schemas of a guard, else those of the guards before it. */
export interface GuardSchemas<Before extends SchemaTypes, Data, Headers, Response> {
  readonly data: Or<Data, Before['data']>
  readonly headers: Or<Headers, Before['headers']>
  readonly response: Or<Response, Before['response']>
}
