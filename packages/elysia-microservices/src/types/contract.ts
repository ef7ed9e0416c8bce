/** Contracts: what a service answers, written down as an interface, for callers that cannot import its type. */

import type { Empty } from './scope.ts'
import type { EventType, MessageType, NoAnswers, StreamOf, Typed, ValueOf } from './service.ts'

/** An event in a contract: `'orders.placed': Event<Order>`. */
export interface Event<Data = undefined> {
  readonly '~event': Data
}

type AnyFunction = (...args: never[]) => unknown

type MessageIn<Method> = Method extends () => infer Result
  ? MessageType<undefined, ValueOf<Result>, StreamOf<Result>>
  : Method extends (data: infer Data) => infer Result
    ? MessageType<Data, ValueOf<Result>, StreamOf<Result>>
    : never

type StreamOfMethod<Method> = Method extends (...args: never[]) => infer Result ? StreamOf<Result> : never

/** What a contract answers, values and streams apart. */
export interface ContractAnswers<Contract> extends NoAnswers {
  readonly values: {
    readonly [Name in keyof Contract as Contract[Name] extends AnyFunction
      ? false extends StreamOfMethod<Contract[Name]>
        ? Name
        : never
      : never]: MessageIn<Contract[Name]>
  }
  readonly streams: {
    readonly [Name in keyof Contract as Contract[Name] extends AnyFunction
      ? true extends StreamOfMethod<Contract[Name]>
        ? Name
        : never
      : never]: MessageIn<Contract[Name]>
  }
}

/** The events of a contract. */
export type ContractEvents<Contract> = Empty & {
  readonly [Name in keyof Contract as Contract[Name] extends Event<infer _>
    ? Name
    : never]: Contract[Name] extends Event<infer Data> ? EventType<Data> : never
}

/** A type in a contract as a service may have it: one that takes more data fits, too. */
type Fitting<Types> = { readonly [Name in keyof Types]: Omit<Types[Name], 'data'> }

/** A service that answers at least what a contract says: `service satisfies Implements<Orders>`. */
export type Implements<Contract> = Typed<
  {
    readonly values: Fitting<ContractAnswers<Contract>['values']>
    readonly streams: Fitting<ContractAnswers<Contract>['streams']>
  },
  Fitting<ContractEvents<Contract>>
>
