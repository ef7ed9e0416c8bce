/**
 * The types that the compiler knows of a service besides its patterns: the context of handlers, schemas, errors,
 * macros.
 */
import type { AnyElysia } from 'elysia'
import type { HookScope } from '../hooks/hook.ts'
import type { AnswerOf, AnySchema, InputOf, OutputOf, ReturnOf } from '../schema/schema-types.ts'
import type { Over } from './declared.ts'

/** No fields at all. */
export type Empty = Record<never, never>

/** Schemas by their purpose; `undefined` if there is none. */
export interface SchemaTypes {
  readonly data: AnySchema | undefined
  readonly headers: AnySchema | undefined
  readonly response: AnySchema | undefined
}

/** The additions of all guards of one scope: schemas, and declared errors by code. */
export interface ReachTypes {
  /** Schemas that a closer schema replaces. */
  readonly schema: SchemaTypes
  readonly standalone: StandaloneTypes
  readonly guarded: unknown
}

/** The `ReachTypes` of a scope without guards. */
export interface NoReach {
  readonly schema: NoSchemas
  readonly standalone: NoStandalone
  readonly guarded: Empty
}

/**
 * The types of a schema's values: those that callers send (`input`) and that handlers get (`output`), those that
 * handlers return and that callers get (`answer`).
 */
export interface Sides<Schema> {
  readonly input: InputOf<Schema>
  readonly output: OutputOf<Schema>
  readonly returned: ReturnOf<Schema>
  readonly answer: AnswerOf<Schema>
}

/**
 * The types of the values that fit all standalone schemas: an intersection of `Sides` for each part of a message;
 * `unknown` if there is no schema.
 */
export interface StandaloneTypes {
  readonly data: unknown
  readonly headers: unknown
  readonly response: unknown
}

/** No standalone schemas. */
export interface NoStandalone {
  readonly data: unknown
  readonly headers: unknown
  readonly response: unknown
}

/** The types of schemas that are standalone. */
export interface AsStandalone<Schemas extends SchemaTypes> {
  readonly data: SidesOf<Schemas['data']>
  readonly headers: SidesOf<Schemas['headers']>
  readonly response: SidesOf<Schemas['response']>
}

type SidesOf<Schema> = Schema extends AnySchema ? Sides<Schema> : unknown

/** No schemas. */
export interface NoSchemas {
  readonly data: undefined
  readonly headers: undefined
  readonly response: undefined
}

/** The types that a service has collected along its chain of calls. */
export interface ScopeTypes {
  /** The decorators, and the field `store` with the store. */
  readonly context: object
  /** The fields that `derive` and `resolve` add, by their scope. */
  readonly local: object
  readonly scoped: object
  readonly global: object
  /** Schemas of guards, which a handler's own schemas replace. */
  readonly schema: SchemaTypes
  /** Schemas of guards that hold beside a handler's own. */
  readonly standalone: StandaloneTypes
  /** Errors that guards declare, by code. */
  readonly guarded: unknown
  /** The guards by their scope, from which the three fields before are made. */
  readonly guards: GuardTypes
  /** Fields that the service's handlers use and that a service above has to add. */
  readonly needs: object
  /** Error classes by code. */
  readonly errors: object
  /** The error classes that apply to services above, too. */
  readonly errorsAbove: ErrorsAbove
  /** Values of macros by name. */
  readonly macros: object
  /** Schemas by the names that `model` has given them. */
  readonly models: object
}

/** The guards of a service by their scope. */
export interface GuardTypes {
  /** The guards around a group. */
  readonly outer: ReachTypes
  readonly local: ReachTypes
  /** The guards that also apply to the service above. */
  readonly scoped: ReachTypes
  /** The guards that apply to all services above. */
  readonly global: ReachTypes
}

/** The guards of a service without guards. */
export interface NoGuards {
  readonly outer: NoReach
  readonly local: NoReach
  readonly scoped: NoReach
  readonly global: NoReach
}

/** The error classes of a service that also apply to the service above, and to all services above. */
export interface ErrorsAbove {
  readonly scoped: object
  readonly global: object
}

/** The `ErrorsAbove` of a service without such classes. */
export interface NoErrorsAbove {
  readonly scoped: Empty
  readonly global: Empty
}

/** The scope of a new service. */
export interface EmptyScope {
  readonly context: Empty
  readonly local: Empty
  readonly scoped: Empty
  readonly global: Empty
  readonly schema: NoSchemas
  readonly standalone: NoStandalone
  readonly guarded: Empty
  readonly guards: NoGuards
  readonly needs: Empty
  readonly errors: Empty
  readonly errorsAbove: NoErrorsAbove
  readonly macros: Empty
  readonly models: Empty
}

/** A scope with an addition to one of its parts. */
export type With<Scope extends ScopeTypes, Part extends keyof ScopeTypes, Added> = {
  readonly [Key in keyof ScopeTypes]: Key extends Part ? Scope[Key] & Added : Scope[Key]
}

/**
 * The decorators and the store of a service together with those of a service or app that it uses. Of two of one name,
 * those that are there already stay.
 */
export type Beside<Own extends object, Used extends object> = [keyof Own & keyof Used] extends [never]
  ? Own & Used
  : Own & {
      readonly [Name in keyof Used as Name extends 'store'
        ? Name
        : Exclude<Name, keyof Own>]: Name extends 'store'
        ? Omit<Used[Name], keyof Own[Name & keyof Own]>
        : Used[Name]
    }

/** A scope with the decorators and the store of an Elysia app. */
export type WithApp<Scope extends ScopeTypes, App extends AnyElysia> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'context'
    ? Beside<Scope['context'], ContextOf<App>>
    : Scope[Key]
}

/** A scope with more macros. A macro replaces an earlier one of its name. */
export type WithMacros<Scope extends ScopeTypes, Added> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'macros' ? Over<Scope['macros'], Added> : Scope[Key]
}

/** A scope with more named schemas. A schema replaces an earlier one of its name. */
export type WithModels<Scope extends ScopeTypes, Added> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'models' ? Over<Scope['models'], Added> : Scope[Key]
}

/** The names that `model` has given to schemas. */
export type ModelName<Scope extends ScopeTypes> = keyof Scope['models'] & string

/** The schema that is given, itself or by its name. */
export type ModelOf<Models, Given> = Given extends keyof Models ? Models[Given] : Given

/** A scope with error classes of the scope `As`. */
export type WithErrors<Scope extends ScopeTypes, Added extends object, As extends HookScope> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'errors'
    ? Scope['errors'] & Added
    : Key extends 'errorsAbove'
      ? {
          readonly [Each in keyof ErrorsAbove]: Each extends As
            ? Scope['errorsAbove'][Each] & Added
            : Scope['errorsAbove'][Each]
        }
      : Scope[Key]
}

/** `Schema` if it is a schema, else `Other`. */
export type Or<Schema, Other> = Schema extends AnySchema ? Schema : Other

/** Merges schemas. Later schemas replace earlier ones. */
export interface SchemasOver<Before extends SchemaTypes, After extends SchemaTypes> {
  readonly data: Or<After['data'], Before['data']>
  readonly headers: Or<After['headers'], Before['headers']>
  readonly response: Or<After['response'], Before['response']>
}

/** Merges what two guards, or the guards of two scopes, add. */
export interface Reached<Before extends ReachTypes, After extends ReachTypes> {
  readonly schema: SchemasOver<Before['schema'], After['schema']>
  readonly standalone: Before['standalone'] & After['standalone']
  readonly guarded: Over<Before['guarded'], After['guarded']>
}

/** All guards of a service together. A schema of a narrower scope replaces one of a wider scope. */
export type Together<Guards extends GuardTypes> = Reached<
  Reached<Reached<Guards['outer'], Guards['global']>, Guards['scoped']>,
  Guards['local']
>

/** A scope with other guards. */
export type WithGuards<Scope extends ScopeTypes, Guards extends GuardTypes> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'guards'
    ? Guards
    : Key extends keyof ReachTypes
      ? Together<Guards>[Key]
      : Scope[Key]
}

/** The scope of a group: the guards around the group are outside of its own guards of every scope. */
export type Grouped<Scope extends ScopeTypes> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'guards'
    ? GuardsBehind<Pick<Scope, keyof ReachTypes>>
    : Scope[Key]
}

/** A scope with what a used service adds to it. */
export type WithService<Scope extends ScopeTypes, Used extends ScopeTypes> =
  GuardsAbove<Used['guards']> extends true
    ? WithGuards<WithHooksOf<Scope, Used>, GuardsOf<Scope['guards'], Used['guards']>>
    : WithHooksOf<Scope, Used>

/** Whether a used service has guards that apply to the service that uses it. */
type GuardsAbove<Guards extends GuardTypes> = NoReach extends Guards['scoped']
  ? NoReach extends Guards['global']
    ? false
    : true
  : true

/** The guards of a service that uses another one. */
export interface GuardsOf<Own extends GuardTypes, Used extends GuardTypes> {
  readonly outer: Own['outer']
  readonly local: Reached<Own['local'], Used['scoped']>
  readonly scoped: Own['scoped']
  readonly global: Reached<Own['global'], Used['global']>
}

/** A scope with what a used service adds to it, without its guards. */
export interface WithHooksOf<Scope extends ScopeTypes, Used extends ScopeTypes> extends ScopeTypes {
  readonly context: Beside<Scope['context'], Used['context']>
  readonly local: Scope['local'] & Used['scoped']
  readonly scoped: Scope['scoped']
  readonly global: Scope['global'] & Used['global']
  readonly schema: Scope['schema']
  readonly standalone: Scope['standalone']
  readonly guarded: Scope['guarded']
  readonly guards: Scope['guards']
  readonly needs: Scope['needs']
  readonly errors: Scope['errors'] & Used['errorsAbove']['scoped'] & Used['errorsAbove']['global']
  readonly errorsAbove: {
    readonly scoped: Scope['errorsAbove']['scoped']
    readonly global: Scope['errorsAbove']['global'] & Used['errorsAbove']['global']
  }
  readonly macros: Over<Scope['macros'], Used['macros']> & object
  readonly models: Over<Scope['models'], Used['models']> & object
}

/** A scope after `as()`, which widens the scope of its hooks, guards and error classes. */
export type Widened<Scope extends ScopeTypes, To extends 'scoped' | 'global'> = WithGuards<
  {
    readonly [Key in keyof ScopeTypes]: Key extends 'local'
      ? Empty
      : Key extends To
        ? Scope['local'] & Scope['scoped'] & Scope[Key]
        : Key extends 'scoped'
          ? Empty
          : Key extends 'errorsAbove'
            ? WidenedErrors<Scope, To>
            : Scope[Key]
  },
  WidenedGuards<Scope['guards'], To>
>

/** The error classes that apply to services above after `as()`. */
export interface WidenedErrors<Scope extends ScopeTypes, To extends 'scoped' | 'global'> {
  readonly scoped: To extends 'scoped' ? Scope['errors'] : Empty
  readonly global: To extends 'scoped' ? Scope['errorsAbove']['global'] : Scope['errors']
}

/** The guards of a service after `as()`. */
export interface WidenedGuards<Guards extends GuardTypes, To extends 'scoped' | 'global'> {
  readonly outer: Guards['outer']
  readonly local: NoReach
  readonly scoped: To extends 'scoped' ? Reached<Guards['scoped'], Guards['local']> : NoReach
  readonly global: To extends 'scoped'
    ? Guards['global']
    : Reached<Guards['global'], Reached<Guards['scoped'], Guards['local']>>
}

/** The fields that decorators, store and hooks of a service add to a message. */
type Provided<Scope extends ScopeTypes> = Scope['context'] &
  Scope['local'] &
  Scope['scoped'] &
  Scope['global']

/** The fields that are added to a message: by the service, and by the services above it. */
export type Extras<Scope extends ScopeTypes> = Provided<Scope> & Scope['needs']

/**
 * The scope of a service that will be used by a service like `Above`: its handlers run after the hooks and guards
 * of `Above`, and get its decorators.
 */
export interface Behind<Above extends ScopeTypes> {
  readonly context: Empty
  readonly local: Empty
  readonly scoped: Empty
  readonly global: Empty
  readonly errors: Empty
  readonly errorsAbove: NoErrorsAbove
  readonly macros: Empty
  readonly models: Empty
  readonly schema: BehindGuards<Above>['schema']
  readonly standalone: BehindGuards<Above>['standalone']
  readonly guarded: Above['guarded']
  readonly guards: GuardsBehind<BehindGuards<Above>>
  readonly needs: Extras<Above>
}

/** The guards of a service or group that has only guards around it. */
export interface GuardsBehind<Outer extends ReachTypes> {
  readonly outer: Outer
  readonly local: NoReach
  readonly scoped: NoReach
  readonly global: NoReach
}

/** The guards of a service above. Their schemas of data and answers are not known to the handlers behind it. */
export interface BehindGuards<Above extends ScopeTypes> {
  readonly schema: {
    readonly data: undefined
    readonly headers: Above['schema']['headers']
    readonly response: undefined
  }
  readonly standalone: {
    readonly data: unknown
    readonly headers: Above['standalone']['headers']
    readonly response: unknown
  }
  readonly guarded: Above['guarded']
}

/** The names of needed fields that are missing or have another type. */
type Unmet<Needs, There> = {
  [Name in keyof Needs]-?: Name extends keyof There ? (There[Name] extends Needs[Name] ? never : Name) : Name
}[keyof Needs]

/** The sentence for a service whose handlers need a field that no service adds. */
type Needing<Name> =
  `This service needs '${Name & string}', which no service before it adds: first use a service that adds it`

/**
 * A service that another service may use. If its handlers need fields that the other service does not add, a
 * sentence that the compiler shows.
 */
export type Usable<Service, Needs, Scope extends ScopeTypes> = [Unmet<Needs, Extras<Scope>>] extends [never]
  ? Service
  : Needing<Unmet<Needs, Extras<Scope>>>

/** `unknown` if a service has all fields that its handlers need; else a sentence, which no value fits. */
export type Complete<Scope extends ScopeTypes> = Usable<unknown, Scope['needs'], ScopeWithoutNeeds<Scope>>

type ScopeWithoutNeeds<Scope extends ScopeTypes> = Omit<Scope, 'needs'> & { readonly needs: Empty }

/** The fields that an Elysia app adds to a message: its decorators and its store. */
export type ContextOf<App extends AnyElysia> = App['~Singleton']['decorator'] & {
  readonly store: App['~Singleton']['store']
}
