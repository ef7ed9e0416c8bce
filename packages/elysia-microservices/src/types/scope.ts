/**
 * The types that the compiler knows of a service besides its patterns: the context of handlers, schemas, errors,
 * macros.
 */
import type { AnyElysia } from 'elysia'
import type { AnySchema } from '../schema/schema-types.ts'

/** No fields at all. */
export type Empty = Record<never, never>

/** Schemas by their purpose; `undefined` if there is none. */
export interface SchemaTypes {
  readonly data: AnySchema | undefined
  readonly headers: AnySchema | undefined
  readonly response: AnySchema | undefined
}

/** The parts of guards that apply to services above: schemas, and the errors that guards declare, by code. */
export interface ReachTypes {
  readonly schema: SchemaTypes
  readonly guarded: unknown
}

/** The `ReachTypes` of guards that do not apply to services above. */
export interface NoReach {
  readonly schema: NoSchemas
  readonly guarded: Empty
}

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
  /** Schemas of guards. */
  readonly schema: SchemaTypes
  /** Errors that guards declare, by code. */
  readonly guarded: unknown
  /** The parts of guards that apply to the service above, and to all services above. */
  readonly above: { readonly scoped: ReachTypes; readonly global: ReachTypes }
  /** Fields that the service's handlers use and that a service above has to add. */
  readonly needs: object
  /** Error classes by code. */
  readonly errors: object
  /** Values of macros by name. */
  readonly macros: object
}

/** The scope of a new service. */
export interface EmptyScope {
  readonly context: Empty
  readonly local: Empty
  readonly scoped: Empty
  readonly global: Empty
  readonly schema: NoSchemas
  readonly guarded: Empty
  readonly above: NothingAbove
  readonly needs: Empty
  readonly errors: Empty
  readonly macros: Empty
}

/** For a service without guards that apply to services above. */
export interface NothingAbove {
  readonly scoped: NoReach
  readonly global: NoReach
}

/** A scope with an addition to one of its parts. */
export type With<Scope extends ScopeTypes, Part extends keyof ScopeTypes, Added> = {
  readonly [Key in keyof ScopeTypes]: Key extends Part ? Scope[Key] & Added : Scope[Key]
}

/** `Schema` if it is a schema, else `Other`. */
export type Or<Schema, Other> = Schema extends AnySchema ? Schema : Other

/** Merges schemas. Later schemas replace earlier ones. */
export interface SchemasOver<Before extends SchemaTypes, After extends SchemaTypes> {
  readonly data: Or<After['data'], Before['data']>
  readonly headers: Or<After['headers'], Before['headers']>
  readonly response: Or<After['response'], Before['response']>
}

/** Merges what two guards add. */
export interface Reached<Before extends ReachTypes, After extends ReachTypes> {
  readonly schema: SchemasOver<Before['schema'], After['schema']>
  readonly guarded: Before['guarded'] & After['guarded']
}

/** A scope with what a used service adds to it. */
export type WithService<Scope extends ScopeTypes, Used extends ScopeTypes> = {
  readonly context: Scope['context'] & Used['context']
  readonly local: Scope['local'] & Used['scoped']
  readonly scoped: Scope['scoped']
  readonly global: Scope['global'] & Used['global']
  readonly schema: NothingAbove extends Used['above']
    ? Scope['schema']
    : SchemasOver<
        Scope['schema'],
        SchemasOver<Used['above']['scoped']['schema'], Used['above']['global']['schema']>
      >
  readonly guarded: Scope['guarded'] & Used['above']['scoped']['guarded'] & Used['above']['global']['guarded']
  readonly above: NoReach extends Used['above']['global']
    ? Scope['above']
    : {
        readonly scoped: Scope['above']['scoped']
        readonly global: Reached<Scope['above']['global'], Used['above']['global']>
      }
  readonly needs: Scope['needs']
  readonly errors: Scope['errors'] & Used['errors']
  readonly macros: Scope['macros'] & Used['macros']
}

/** A scope after `as()`, which widens the scope of its hooks. */
export type Widened<Scope extends ScopeTypes, To extends 'scoped' | 'global'> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'local'
    ? Empty
    : Key extends To
      ? Scope['local'] & Scope['scoped'] & Scope[Key]
      : Key extends 'scoped'
        ? Empty
        : Key extends 'above'
          ? {
              readonly [Each in 'scoped' | 'global']: Each extends To
                ? { readonly schema: Scope['schema']; readonly guarded: Scope['guarded'] }
                : To extends 'scoped'
                  ? Scope['above'][Each]
                  : NoReach
            }
          : Scope[Key]
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
  readonly above: NothingAbove
  readonly errors: Empty
  readonly macros: Empty
  readonly schema: {
    readonly data: undefined
    readonly headers: Above['schema']['headers']
    readonly response: undefined
  }
  readonly guarded: Above['guarded']
  readonly needs: Extras<Above>
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
