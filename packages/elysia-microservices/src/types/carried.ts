/** Reads the types that a service or a contract carries: its patterns, and all else that services which use it need. */

import type { AnyElysia } from 'elysia'
import type { EVENTS, MESSAGES, SCOPE } from './carrying.ts'
import type { ContractAnswers, ContractEvents } from './contract.ts'
import type { Behind, ContextOf, Empty, EmptyScope, ScopeTypes, With } from './scope.ts'
import type { MessageType, NoAnswers, Typed } from './service.ts'

type Carried<Service, Key extends keyof Typed, None> = Key extends keyof Service ? Service[Key] & None : None

/** The answers of a service or of a contract, with values and streams apart. */
export type AnswersOf<Service> = typeof MESSAGES extends keyof Service
  ? Carried<Service, typeof MESSAGES, NoAnswers>
  : Service extends (...args: never[]) => unknown
    ? MistakenAnswers<'This is a function that makes a service: take ReturnType<typeof …>'>
    : Service extends PromiseLike<unknown>
      ? MistakenAnswers<'This is a promise of a service: take Awaited<…>'>
      : ContractAnswers<Service>

/**
 * The answers of a type that is not a service. Their only name is a sentence, which the compiler shows in its
 * error.
 */
export interface MistakenAnswers<Sentence extends string> extends NoAnswers {
  readonly values: { readonly [Name in Sentence]: MessageType }
  readonly streams: { readonly [Name in Sentence]: MessageType }
}
/** The message patterns of a service. */
export type MessagesOf<Service> = AnswersOf<Service>['values'] & AnswersOf<Service>['streams']
/** The event patterns of a service, or of a contract. */
export type EventsOf<Service> = typeof MESSAGES extends keyof Service
  ? Carried<Service, typeof EVENTS, Empty>
  : ContractEvents<Service>
/** The patterns of a service that its callers cannot reach. */
export type UnexposedOf<Service> = '~unexposed' extends keyof Service ? Service['~unexposed'] : never
/** All types that a service carries besides its patterns. */
export type ScopeOf<Service> = Extract<Carried<Service, typeof SCOPE, unknown>, ScopeTypes>

/** The scope of a new service: that of the app or service for which it is made, if there is one. */
export type ScopeIn<Above> = Above extends AnyElysia
  ? With<EmptyScope, 'context', ContextOf<Above>>
  : typeof MESSAGES extends keyof Above
    ? Behind<ScopeOf<Above>>
    : EmptyScope
