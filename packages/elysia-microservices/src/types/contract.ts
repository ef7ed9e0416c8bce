/** Contracts: interfaces that say what a service answers, for callers that cannot import the service's type. */

import type { ErrorsIn } from './errors.ts'
import type { Empty } from './scope.ts'
import type { EventType, MessageType, NoAnswers, StreamOf, Typed, ValueOf } from './service.ts'

/** An event in a contract: `'orders.placed': EventOf<Order>`. */
export interface EventOf<Data = undefined, Headers = unknown> {
  readonly '~event': Data
  readonly '~headers'?: Headers
}

/** The types of a contract's method: its parameters are the data, and the headers that callers must send. */
type MessageIn<Method> = Method extends (...args: infer Args) => infer Result
  ? MessageType<
      Args extends readonly [] ? undefined : Args[0],
      ValueOf<Result>,
      StreamOf<Result>,
      Args extends readonly [unknown?, (infer Headers)?] ? Headers : unknown,
      ErrorsIn<Awaited<Result>>
    >
  : never

type IsStream<Method> = Method extends (...args: never[]) => infer Result ? StreamOf<Result> : never

/** The methods of a contract that answer with streams (`true`), or with values (`false`). */
type MessagesIn<Contract, Streams extends boolean> = {
  readonly [Name in keyof Contract as Streams extends IsStream<Contract[Name]> ? Name : never]: MessageIn<
    Contract[Name]
  >
}

/** The answers of a contract, with values and streams apart. */
export interface ContractAnswers<Contract> extends NoAnswers {
  readonly values: MessagesIn<Contract, false>
  readonly streams: MessagesIn<Contract, true>
}

/** The events of a contract. */
export type ContractEvents<Contract> = Empty & {
  readonly [Name in keyof Contract as Contract[Name] extends EventOf<infer _>
    ? Name
    : never]: Contract[Name] extends EventOf<infer Data, infer Headers> ? EventType<Data, Headers> : never
}

/** A type of the contract, as a service may have it. A service that accepts more kinds of data fits, too. */
type Fitting<Types> = {
  readonly [Name in keyof Types]: Omit<Types[Name], 'data' | 'errors' | '~durable' | '~idempotent'> &
    FittingErrors<Types[Name]>
}

/** The declared errors of a service. An error that the contract has must have the same details as in the contract. */
type FittingErrors<Type> = Type extends { readonly errors: infer Errors }
  ? {
      readonly errors: {
        readonly [Code in keyof Errors]?: Errors[Code] extends { readonly details: infer Details }
          ? { readonly details: Details }
          : never
      } & Readonly<Record<string, unknown>>
    }
  : unknown

/**
 * The type of a service that answers at least what a contract says: `service satisfies Implements<Orders>`.
 * @example
 * ```ts
 * import { type Implements, type Message, microservice } from 'elysia-microservices'
 *
 * interface Orders {
 *   'orders.get'(id: number): { id: number }
 * }
 * microservice({ transport: 'tcp' })
 *   .message('orders.get', ({ data }: Message<number>) => ({ id: data })) satisfies Implements<Orders>
 * ```
 */
export type Implements<Contract> = Typed<
  {
    readonly values: Fitting<ContractAnswers<Contract>['values']>
    readonly streams: Fitting<ContractAnswers<Contract>['streams']>
  },
  Fitting<ContractEvents<Contract>>
>
