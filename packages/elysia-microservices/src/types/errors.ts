/** The types of errors that are part of a pattern's contract. */
import type { DeclaredError } from '@elysia-microservices/transport'
import type { AnswerOf, AnySchema, ReturnOf } from '../schema/schema-types.ts'
import type { DeclaredIn, Over } from './declared.ts'
import type { Empty, ScopeTypes } from './scope.ts'
import type { MacroErrors } from './used-macros.ts'

/** The types of an error of a contract that callers know: its details, and the HTTP status that was declared for it. */
export interface ErrorType<Details = unknown, Status = unknown> {
  readonly details: Details
  readonly status: Status
}

/** The schema of the details of a declaration. */
type DetailsSchema<Declared> = Declared extends AnySchema
  ? Declared
  : Declared extends { readonly details: infer Schema extends AnySchema }
    ? Schema
    : undefined

/** The details that a handler gives. */
type GivenDetails<Declared> =
  DetailsSchema<Declared> extends infer Schema
    ? Schema extends AnySchema
      ? ReturnOf<Schema>
      : undefined
    : never

/** The details that callers get. */
type ErrorTypeOf<Declared> = ErrorType<
  DetailsSchema<Declared> extends infer Schema
    ? Schema extends AnySchema
      ? AnswerOf<Schema>
      : undefined
    : never,
  Declared extends { readonly status: infer Status extends number } ? Status : undefined
>

/** The errors that a handler may throw by their code: its own, those of macros, and those of the guards before it. */
export type Throwable<Scope extends ScopeTypes, Used> = Over<
  Over<Scope['guarded'], MacroErrors<Scope['macros'], Used>>,
  DeclaredIn<Used>
>

type ErrorArguments<Details> = undefined extends Details
  ? [details?: Details, message?: string]
  : [details: Details, message?: string]

/** Makes an error of a contract. */
export type MakeError<Declared> = <const Code extends keyof Declared & string>(
  code: Code,
  ...args: ErrorArguments<GivenDetails<Declared[Code]>>
) => DeclaredError<Code, GivenDetails<Declared[Code]>>

/** The function `error` of handlers and hooks where errors are declared. */
export type Throws<Declared> = [keyof Declared] extends [never]
  ? Empty
  : {
      /** Makes an error of the contract: throw it, or return it. `error('OUT_OF_STOCK', { left: 3 })` */
      readonly error: MakeError<Declared>
    }

/** The errors of a pattern for its callers: those that its handler may throw by their code, and registered classes. */
export type ErrorsFor<Scope extends ScopeTypes, Used> = [
  keyof Scope['errors'] | keyof Throwable<Scope, Used>
] extends [never]
  ? Empty
  : ErrorTypes<Scope['errors'], Throwable<Scope, Used>>

/** Errors by code. */
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

/** The codes that options may pass on; without any, a sentence. */
export type PassedCode<Scope extends ScopeTypes, Used> = [
  keyof Scope['errors'] | keyof Throwable<Scope, Used>
] extends [never]
  ? 'Only errors of the contract can be passed on: declare them in errors'
  : (keyof Scope['errors'] | keyof Throwable<Scope, Used>) & string

type CodeIn<Type> = Type extends { readonly code: infer Code extends string } ? Code : never

/** The errors in what a method of a contract returns. */
export type ErrorsIn<Result> = {
  readonly [Each in Result extends DeclaredError ? Result : never as CodeIn<Each>]: ErrorType<
    DetailsIn<Each>,
    undefined
  >
}

/** Errors by code, as callers catch them. */
export type FailuresOf<Errors> = {
  [Code in keyof Errors & string]: DeclaredError<Code, DetailsIn<Errors[Code]>>
}[keyof Errors & string]

type DetailsIn<Type> = Type extends { readonly details: infer Details } ? Details : never
