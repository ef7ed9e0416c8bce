/** Decorators with the types of a contract: its patterns, and what the method of each pattern must return. */
import type { DeclaredError, Pattern } from '@elysia-microservices/transport'
import { declaredError } from '@elysia-microservices/transport/kit'
import type { TSchema } from 'elysia'
import type { StandardSchema } from '../schema/standard-schema.ts'
import type { ContractAnswers, ContractEvents } from '../types/contract.ts'
import type { ErrorsIn, FailuresOf } from '../types/errors.ts'
import type { AsName, AsPattern } from '../types/pattern.ts'
import type { AnyStream, StreamOf, ValueOf } from '../types/service.ts'
import { type EventExtras, EventPattern, MessagePattern } from './decorators.ts'

/** A decorator for methods of one type. */
type For<Method> = <Given extends Method>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Given>
) => void

/**
 * The errors that a contract's method declares, by code. The type takes only the method: if it searched the answers
 * of the whole contract, the compiler would go through the contract for each decorator.
 */
type ErrorsOfMethod<Method> = Method extends (...args: never[]) => infer Result
  ? ErrorsIn<Awaited<Result>>
  : never

type DetailsOf<Type> = Type extends { readonly details: infer Details } ? Details : never

/** A schema whose values are the details of an error. */
type SchemaFor<Details> = (TSchema & { readonly static: Details }) | StandardSchema<unknown, Details>

/** The declaration of one error of the contract: a schema of its details, or an object with a status. */
type DeclarationFor<Details> =
  | (undefined extends Details ? never : SchemaFor<Details>)
  | ((undefined extends Details ? { readonly details?: never } : { readonly details: SchemaFor<Details> }) & {
      readonly status?: number
    })

/** The second argument of a pattern's decorator: declarations for the errors that the contract names. */
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

/** The values that a method of a contract may return. */
type Returns<Method> = Answering<Method> | Failing<ErrorsOfMethod<Method>>

type Failing<Errors> = FailuresOf<Errors> | Promise<FailuresOf<Errors>>

type Answering<Method> = Method extends (...args: never[]) => infer Result
  ? true extends StreamOf<Result>
    ? AnyStream<ValueOf<Result>> | Promise<AnyStream<ValueOf<Result>>>
    : ValueOf<Result> | Promise<ValueOf<Result>>
  : never

/** The contract's method of a pattern, which is a name or the object of which the name is the text. */
type MethodOf<Contract, Given> = Contract[AsName<Given> & keyof Contract]

/** The decorators of a contract. */
export interface ContractDecorators<Contract> {
  /** Makes the method answer requests of a pattern; the method returns what the contract says. */
  MessagePattern<
    const Given extends AsPattern<
      keyof ContractAnswers<Contract>['values'] | keyof ContractAnswers<Contract>['streams']
    >
  >(
    pattern: Given & Pattern,
    ...extras: Extras<ErrorsOfMethod<MethodOf<Contract, Given>>>
  ): For<(...args: never[]) => Returns<MethodOf<Contract, Given>>>
  /** Makes the method handle events of a pattern. */
  EventPattern<const Given extends AsPattern<keyof ContractEvents<Contract>>>(
    pattern: Given & Pattern,
    extras?: EventExtras
  ): For<(...args: never[]) => unknown>
  /** Makes an error of the contract. A method throws or returns this error. */
  fail<const Code extends CodeOf<ErrorsOfAll<Contract>> & string>(
    code: Code,
    ...args: undefined extends DetailsOfCode<ErrorsOfAll<Contract>, Code>
      ? [details?: DetailsOfCode<ErrorsOfAll<Contract>, Code>, message?: string]
      : [details: DetailsOfCode<ErrorsOfAll<Contract>, Code>, message?: string]
  ): DeclaredError<Code, DetailsOfCode<ErrorsOfAll<Contract>, Code>>
}

/**
 * `MessagePattern` and `EventPattern` for classes that answer what a contract says: `const { MessagePattern } =
 * decoratorsOf<Orders>()`. At run time these are the ordinary decorators; only their types differ. `fail` makes
 * the errors of the contract.
 */
export function decoratorsOf<Contract>(): ContractDecorators<Contract> {
  return { MessagePattern, EventPattern, fail: declaredError } as never
}
