/** The types of errors that a pattern declares. */
import type { DeclaredError } from '@elysia-microservices/transport'
import type { AnswerOf, AnySchema, ReturnOf } from '../schema/schema-types.ts'
import type { DeclaredIn, Over } from './declared.ts'
import type { Empty, ScopeTypes } from './scope.ts'
import type { MacroErrors } from './used-macros.ts'

/** The types of a declared error that callers know: its details, and its HTTP status. */
export interface ErrorType<Details = unknown, Status = unknown> {
  readonly details: Details
  readonly status: Status
}

/**
 * The schema of the details in a declaration. It is read by its key: up to TypeScript 5 a declaration with a further
 * property does not extend `{ details: … }`, because it counts as a literal with a property too many.
 */
type DetailsSchema<Declared> = Declared extends AnySchema
  ? Declared
  : At<Declared, 'details'> extends infer Schema extends AnySchema
    ? Schema
    : undefined

/** The status in a declaration. A schema may have any key. */
type StatusIn<Declared> = Declared extends AnySchema
  ? undefined
  : At<Declared, 'status'> extends infer Status extends number
    ? Status
    : undefined

type At<Type, Key> = Key extends keyof Type ? Type[Key] : undefined

/** The type of the details that a handler passes. */
type GivenDetails<Declared> =
  DetailsSchema<Declared> extends infer Schema
    ? Schema extends AnySchema
      ? ReturnOf<Schema>
      : undefined
    : never

/** The type of the details that callers get. */
type ErrorTypeOf<Declared> = ErrorType<
  DetailsSchema<Declared> extends infer Schema
    ? Schema extends AnySchema
      ? AnswerOf<Schema>
      : undefined
    : never,
  StatusIn<Declared>
>

/**
 * The errors that a handler may throw by their code: those of its own options, of its macros, and of the guards
 * before it.
 */
export type Throwable<Scope extends ScopeTypes, Used> = Over<
  Over<Scope['guarded'], MacroErrors<Scope['macros'], Used>>,
  DeclaredIn<Used>
>

type ErrorArguments<Details> = undefined extends Details
  ? [details?: Details, message?: string]
  : [details: Details, message?: string]

/** The type of the function that makes a declared error. */
export type MakeError<Declared> = <const Code extends keyof Declared & string>(
  code: Code,
  ...args: ErrorArguments<GivenDetails<Declared[Code]>>
) => DeclaredError<Code, GivenDetails<Declared[Code]>>

/** The function `fail` of handlers and hooks, if there are declared errors. */
export type Throws<Declared> = [keyof Declared] extends [never]
  ? Empty
  : {
      /** Makes a declared error, which the handler throws or returns: `fail('OUT_OF_STOCK', { left: 3 })`. */
      readonly fail: MakeError<Declared>
    }

/**
 * The errors of a pattern as its callers see them: those that its handler may throw by their code, and registered
 * classes.
 */
export type ErrorsFor<Scope extends ScopeTypes, Used> = [
  keyof Scope['errors'] | keyof Throwable<Scope, Used>
] extends [never]
  ? Empty
  : ErrorTypes<Scope['errors'], Throwable<Scope, Used>>

/** The types of errors by their code. */
type ErrorTypes<Registered, Declared> = {
  readonly [Code in keyof Registered | keyof Declared]: Code extends keyof Declared
    ? ErrorTypeOf<Declared[Code]>
    : Code extends keyof Registered
      ? ErrorType<
          Registered[Code] extends { readonly details: infer Details } ? Details : undefined,
          undefined
        >
      : never
}

/** The codes that options may pass on. If there are no declared errors, a sentence that the compiler shows. */
export type PassedCode<Scope extends ScopeTypes, Used> = [
  keyof Scope['errors'] | keyof Throwable<Scope, Used>
] extends [never]
  ? 'Only declared errors can be passed on: declare them in errors'
  : (keyof Scope['errors'] | keyof Throwable<Scope, Used>) & string

type CodeIn<Type> = Type extends { readonly code: infer Code extends string } ? Code : never

/** The declared errors among the results of a contract's method. */
export type ErrorsIn<Result> = {
  readonly [Each in Result extends DeclaredError ? Result : never as CodeIn<Each>]: ErrorType<
    DetailsIn<Each>,
    undefined
  >
}

/** The errors as callers catch them. */
export type FailuresOf<Errors> = {
  [Code in keyof Errors & string]: DeclaredError<Code, DetailsIn<Errors[Code]>>
}[keyof Errors & string]

type DetailsIn<Type> = Type extends { readonly details: infer Details } ? Details : never
