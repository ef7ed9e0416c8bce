/** Contracts: what a service answers, written down as an interface, for callers that cannot import its type. */

import type { Empty } from './scope.ts'
import type { EventType, MessageType, NoAnswers, StreamOf, Typed, ValueOf } from './service.ts'

/** An event in a contract: `'orders.placed': Event<Order>`. */
export interface Event<Data = undefined> {
  readonly '~event': Data
}

type MessageIn<Method> = Method extends () => infer Result
  ? MessageType<undefined, ValueOf<Result>, StreamOf<Result>>
  : Method extends (data: infer Data) => infer Result
    ? MessageType<Data, ValueOf<Result>, StreamOf<Result>>
    : never

type IsStream<Method> = Method extends (...args: never[]) => infer Result ? StreamOf<Result> : never

/** The methods of a contract that answer with streams (`true`), or with values (`false`). */
type MessagesIn<Contract, Streams extends boolean> = {
  readonly [Name in keyof Contract as Streams extends IsStream<Contract[Name]> ? Name : never]: MessageIn<
    Contract[Name]
  >
}

/** What a contract answers, values and streams apart. */
export interface ContractAnswers<Contract> extends NoAnswers {
  readonly values: MessagesIn<Contract, false>
  readonly streams: MessagesIn<Contract, true>
}

/** The events of a contract. */
export type ContractEvents<Contract> = Empty & {
  readonly [Name in keyof Contract as Contract[Name] extends Event<infer _>
    ? Name
    : never]: Contract[Name] extends Event<infer Data> ? EventType<Data> : never
}

/** A type in a contract as a service may have it: one that takes more data fits, too. */
type Fitting<Types> = { readonly [Name in keyof Types]: Omit<Types[Name], 'data'> }

/**
 * A service that answers at least what a contract says: `service satisfies Implements<Orders>`.
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
