/** The types of macros in the options of handlers and guards. */
import type { HookScope } from '../hooks/hook.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DeclaredIn, Over } from './declared.ts'
import type {
  AsStandalone,
  Empty,
  GuardTypes,
  ModelOf,
  NoSchemas,
  NoStandalone,
  Or,
  Reached,
  ReachTypes,
  SchemaTypes,
  ScopeTypes,
  StandaloneTypes,
  WithGuards
} from './scope.ts'

/** A macro of a service: the type of its value in options, and the fields and schemas that it adds. */
export interface MacroType<Value, Fields, Schema, Errors = Empty> {
  readonly value: Value
  /** The fields that the macro's `derive` and `resolve` return. */
  readonly fields: Fields
  /** The types of the macro's schemas, which are standalone. */
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

/** The types of the standalone schemas of guards, and of the macros in options. */
export type StandaloneWith<Guards extends StandaloneTypes, Types, Used> = [keyof Types] extends [never]
  ? Guards
  : [UsedIn<Types, Used>] extends [never]
    ? Guards
    : Guards & MacroSchemas<Types, Used>

/** The types of the schemas of the macros in options. */
type MacroSchemas<Types, Used> = {
  [Name in UsedIn<Types, Used>]: (all: PartOf<Types[Name], 'schema'>) => void
}[UsedIn<Types, Used>] extends (all: infer All extends StandaloneTypes) => void
  ? All
  : NoStandalone

type PartOf<Type, Key extends string> = Type extends { readonly [K in Key]: infer Part } ? Part : never

/**
 * Options by name, each with its given type. For a name that is neither an option nor a macro, and for a value that
 * is not a schema, a sentence that the compiler shows. `Not` has the sentences of options for other kinds of handlers.
 */
export type UsedOptions<Used, Known, Not> = {
  readonly [Name in keyof Used]: Name extends keyof Not
    ? Not[Name]
    : Name extends Known
      ? Name extends keyof SchemaTypes
        ? Used[Name] extends AnySchema | string | undefined
          ? Used[Name]
          : 'This is not a schema: the schema of an object is t.Object({ … })'
        : Name extends Plain
          ? unknown
          : Used[Name]
      : UnknownOption<Name>
}

/** Options whose values have one type. The given type would hide a misspelt name in a value. */
type Plain = 'durable' | 'timeout' | 'idempotent' | 'streams' | 'as' | 'schema'

type UnknownOption<Name> = Name extends 'body' | 'query' | 'params'
  ? `A message has no ${Name}: the schema of what callers send is 'data'`
  : Name extends 'parse' | 'transform' | 'mapResponse' | 'detail' | 'tags' | 'type'
    ? `A message has no ${Name}: it is not an HTTP request`
    : `There is no option '${Name & string}', and no macro of that name`

/** A scope with the additions of a guard: schemas, declared errors, and the fields of macros. */
export type Guarded<
  Scope extends ScopeTypes,
  Data,
  Headers,
  Response,
  Used,
  As extends HookScope,
  Kind extends GuardKind
> = WithGuards<
  {
    readonly [Key in keyof ScopeTypes]: Key extends As
      ? Scope[Key] & MacroFields<Scope['macros'], Used>
      : Scope[Key]
  },
  GuardsWith<Scope['guards'], As, GuardReach<Scope, Data, Headers, Response, Used, Kind>>
>

/** Whether a handler's own schemas replace those of a guard, or both hold. */
export type GuardKind = 'override' | 'standalone'

/** The guards of a service with one more guard. */
export type GuardsWith<Guards extends GuardTypes, As extends HookScope, Added extends ReachTypes> = {
  readonly [Each in keyof GuardTypes]: Each extends As ? Reached<Guards[Each], Added> : Guards[Each]
}

/** The additions of the options of a guard. */
export interface GuardReach<Scope extends ScopeTypes, Data, Headers, Response, Used, Kind extends GuardKind> {
  readonly schema: Kind extends 'override'
    ? SchemasGiven<Scope['models'], Data, Headers, Response>
    : NoSchemas
  readonly standalone: StandaloneWith<
    Kind extends 'override'
      ? NoStandalone
      : AsStandalone<SchemasGiven<Scope['models'], Data, Headers, Response>>,
    Scope['macros'],
    Used
  >
  readonly guarded: Over<MacroErrors<Scope['macros'], Used>, DeclaredIn<Used>>
}

/** The schemas of options, which give them themselves or by their names. */
export interface SchemasGiven<Models, Data, Headers, Response> {
  readonly data: Or<ModelOf<Models, Data>, undefined>
  readonly headers: Or<ModelOf<Models, Headers>, undefined>
  readonly response: Or<ModelOf<Models, Response>, undefined>
}
