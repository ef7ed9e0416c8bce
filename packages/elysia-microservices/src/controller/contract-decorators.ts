/** Decorators that know a contract: its patterns, and what methods must return for them. */
import type { Pattern } from '@elysia-microservices/transport'
import type { ContractAnswers, ContractEvents } from '../types/contract.ts'
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

/** What a method may return for a pattern. */
type Returns<Contract, Name> = Name extends keyof ContractAnswers<Contract>['streams']
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
  >(pattern: Name & Pattern): For<(...args: never[]) => Returns<Contract, Name>>
  /** Takes events of a pattern of the contract. */
  EventPattern<const Name extends keyof ContractEvents<Contract>>(
    pattern: Name & Pattern,
    extras?: EventExtras
  ): For<(...args: never[]) => unknown>
}

/**
 * `MessagePattern` and `EventPattern` for classes that answer what a contract says:
 * `const { MessagePattern } = decoratorsOf<Orders>()`. They are the same decorators, with types.
 */
export function decoratorsOf<Contract>(): ContractDecorators<Contract> {
  return { MessagePattern, EventPattern } as never
}
