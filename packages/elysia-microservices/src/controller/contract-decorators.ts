/** Decorators that know a contract: its patterns, and what methods must return for them. */
import type { DeclaredError, Pattern } from '@elysia-microservices/transport'
import { declaredError } from '@elysia-microservices/transport/kit'
import type { TSchema } from 'elysia'
import type { StandardSchema } from '../schema/standard-schema.ts'
import type { MessagesOf } from '../types/carried.ts'
import type { ContractAnswers, ContractEvents } from '../types/contract.ts'
import type { FailuresOf } from '../types/errors.ts'
import type { AnyStream, MessageType } from '../types/service.ts'
import { type EventExtras, EventPattern, MessagePattern } from './decorators.ts'

/** A decorator for methods of a kind. */
type For<Method> = <Given extends Method>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Given>
) => void

type ValueIn<Types, Name> = Name extends keyof Types
  ? Types[Name] extends MessageType<infer _Data, infer Value>
    ? Value
    : never
  : never

/** The errors of a pattern by code. */
type ErrorsOfName<Contract, Name> = Name extends keyof MessagesOf<Contract>
  ? MessagesOf<Contract>[Name] extends { readonly errors: infer Errors }
    ? Errors
    : never
  : never

type DetailsOf<Type> = Type extends { readonly details: infer Details } ? Details : never

/** A schema whose values are the details of an error. */
type SchemaFor<Details> = (TSchema & { readonly static: Details }) | StandardSchema<unknown, Details>

/** What declares an error of the contract. */
type DeclarationFor<Details> =
  | (undefined extends Details ? never : SchemaFor<Details>)
  | ((undefined extends Details ? { readonly details?: never } : { readonly details: SchemaFor<Details> }) & {
      readonly status?: number
    })

/** What the decorator of a pattern takes beside it: declarations of the errors that the contract has. */
type Extras<Errors> = [keyof Errors] extends [never]
  ? []
  : [
      extras: {
        readonly errors: { readonly [Code in keyof Errors]: DeclarationFor<DetailsOf<Errors[Code]>> }
        readonly passes?: readonly (keyof Errors & string)[]
      }
    ]

/** The errors in the results of all methods. */
type ErrorsOfAll<Contract> = {
  [Name in keyof Contract]: Contract[Name] extends (...args: never[]) => infer Result
    ? Extract<Awaited<Result>, DeclaredError>
    : never
}[keyof Contract]

type CodeOf<Failure> = Failure extends { readonly code: infer Code } ? Code : never
type DetailsOfCode<Failure, Code> =
  Extract<Failure, { readonly code: Code }> extends { readonly details: infer Details } ? Details : never

/** What a method may return for a pattern. */
type Returns<Contract, Name> = Answering<Contract, Name> | Failing<ErrorsOfName<Contract, Name>>

type Failing<Errors> = FailuresOf<Errors> | Promise<FailuresOf<Errors>>

type Answering<Contract, Name> = Name extends keyof ContractAnswers<Contract>['streams']
  ?
      | AnyStream<ValueIn<ContractAnswers<Contract>['streams'], Name>>
      | Promise<AnyStream<ValueIn<ContractAnswers<Contract>['streams'], Name>>>
  :
      | ValueIn<ContractAnswers<Contract>['values'], Name>
      | Promise<ValueIn<ContractAnswers<Contract>['values'], Name>>

/** The decorators of a contract. */
export interface ContractDecorators<Contract> {
  /** Answers requests of a pattern of the contract; the method returns what the contract says. */
  MessagePattern<
    const Name extends keyof ContractAnswers<Contract>['values'] | keyof ContractAnswers<Contract>['streams']
  >(
    pattern: Name & Pattern,
    ...extras: Extras<ErrorsOfName<Contract, Name>>
  ): For<(...args: never[]) => Returns<Contract, Name>>
  /** Takes events of a pattern of the contract. */
  EventPattern<const Name extends keyof ContractEvents<Contract>>(
    pattern: Name & Pattern,
    extras?: EventExtras
  ): For<(...args: never[]) => unknown>
  /** Makes an error of the contract; a method throws it, or returns it. */
  error<const Code extends CodeOf<ErrorsOfAll<Contract>> & string>(
    code: Code,
    ...args: undefined extends DetailsOfCode<ErrorsOfAll<Contract>, Code>
      ? [details?: DetailsOfCode<ErrorsOfAll<Contract>, Code>, message?: string]
      : [details: DetailsOfCode<ErrorsOfAll<Contract>, Code>, message?: string]
  ): DeclaredError<Code, DetailsOfCode<ErrorsOfAll<Contract>, Code>>
}

/**
 * `MessagePattern` and `EventPattern` for classes that answer what a contract says:
 * `const { MessagePattern } = decoratorsOf<Orders>()`. They are the same decorators, with types; `error` makes the errors
 * of the contract.
 */
export function decoratorsOf<Contract>(): ContractDecorators<Contract> {
  return { MessagePattern, EventPattern, error: declaredError } as never
}
