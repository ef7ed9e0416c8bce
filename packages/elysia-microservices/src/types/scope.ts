/** What the compiler knows of a service besides its patterns: the context of handlers, schemas, errors, macros. */
import type { AnyElysia } from 'elysia'
import type { AnySchema } from '../schema/schema-types.ts'

/** No fields at all. */
export type Empty = Record<never, never>

/** Schemas by what they are for; `undefined` for none. */
export interface SchemaTypes {
  readonly data: AnySchema | undefined
  readonly headers: AnySchema | undefined
  readonly response: AnySchema | undefined
}

/** No schemas. */
export interface NoSchemas {
  readonly data: undefined
  readonly headers: undefined
  readonly response: undefined
}

/** The types that a service has collected along its chain of calls. */
export interface ScopeTypes {
  /** Decorators, and the store under `store`. */
  readonly context: object
  /** Fields that `derive` and `resolve` add, by their scope. */
  readonly local: object
  readonly scoped: object
  readonly global: object
  /** Schemas of guards. */
  readonly schema: SchemaTypes
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
  readonly errors: Empty
  readonly macros: Empty
}

/** A scope with more in one of its parts. */
export type With<Scope extends ScopeTypes, Part extends keyof ScopeTypes, Added> = {
  readonly [Key in keyof ScopeTypes]: Key extends Part ? Scope[Key] & Added : Scope[Key]
}

/** The schema if there is one, else the other. */
export type Or<Schema, Other> = Schema extends AnySchema ? Schema : Other

/** A scope with what reaches it from a service it uses. */
export type WithService<Scope extends ScopeTypes, Used extends ScopeTypes> = {
  readonly context: Scope['context'] & Used['context']
  readonly local: Scope['local'] & Used['scoped']
  readonly scoped: Scope['scoped']
  readonly global: Scope['global'] & Used['global']
  readonly schema: Scope['schema']
  readonly errors: Scope['errors'] & Used['errors']
  readonly macros: Scope['macros'] & Used['macros']
}

/** A scope whose hooks reach further. */
export type Widened<Scope extends ScopeTypes, To extends 'scoped' | 'global'> = {
  readonly [Key in keyof ScopeTypes]: Key extends 'local'
    ? Empty
    : Key extends To
      ? Scope['local'] & Scope['scoped'] & Scope[Key]
      : Key extends 'scoped'
        ? Empty
        : Scope[Key]
}

/** What decorators, store and hooks add to a message. */
export type Extras<Scope extends ScopeTypes> = Scope['context'] &
  Scope['local'] &
  Scope['scoped'] &
  Scope['global']

/** What an Elysia app adds to a message: its decorators and its store. */
export type ContextOf<App extends AnyElysia> = App['~Singleton']['decorator'] & {
  readonly store: App['~Singleton']['store']
}
