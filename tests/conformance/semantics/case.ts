/** The forms of the tables of cases: callers get the same over every transport. */
import type { Pattern } from 'elysia-microservices'
import type { CallOptions, UntypedClient } from 'elysia-microservices/client'

/** The transport of messages: TCP in one of its protocols, or an engine by its title. */
export type TransportName = 'RSocket' | "Nest's wire" | (string & {})
/** The form in which data travels: encoded by our codecs, or as Nest's JSON packets. */
export type Carriage = 'codecs' | 'packets'
/** The service that answers: our functional API, controllers in our service, or the same classes in Nest. */
export type ServiceName = 'handlers' | 'controllers' | 'a Nest application'

/** How an error looks to its caller. */
export interface ErrorLook {
  readonly name: string
  readonly code: string
  readonly message: string
  readonly details?: unknown
}

/** The outcome of a call: any number of values, then the end or an error. */
export interface Outcome {
  readonly values: readonly unknown[]
  readonly error?: ErrorLook
  /** A text that the log of the service must hold. */
  readonly logs?: string
}

/** A documented difference: what comes there instead. */
export interface Difference<What> {
  readonly on?: (transport: Where) => boolean
  readonly of?: readonly ServiceName[]
  readonly because: string
  readonly instead: What
}

/** A transport, as differences ask about it. */
export interface Where {
  readonly name: TransportName
  readonly carriage: Carriage
}

/** A call, and what comes of it: by `request`, by `send` and by `stream` alike. */
export interface AnswerCase {
  readonly name: string
  readonly pattern: Pattern
  readonly data?: unknown
  readonly options?: CallOptions
  readonly outcome: Outcome
  readonly differs?: readonly Difference<Outcome>[]
}

/** Traits by which transports differ. */
export interface Traits {
  /** How the work behind a call is told that nobody waits: at once, or when the connection closes. */
  readonly cancels: 'at once' | 'with the connection'
  /** Callers say how long they wait; the service gives up then, too. */
  readonly tellsTimeout: boolean
  /** Generators make no more values than their reader takes. */
  readonly hasDemand: boolean
  /** Services get events that they have no handler of, and say so. */
  readonly hearsUnknownEvents: boolean
  /** A request does not overtake events of other patterns that were sent before it. */
  readonly keepsOrderOfPatterns: boolean
  /** Wildcards are `+` and `#` between slashes. */
  readonly hasLevels: boolean
  /** Patterns may be objects. */
  readonly carriesObjects: boolean
  /** Streams can be sent as data. */
  readonly hasChannels: boolean
  /** The address of the other end; `undefined` where there is no connection. */
  readonly peerAddress: string | undefined
}

/** The parts that a scenario works with. */
export interface Given {
  readonly transport: TransportName
  readonly service: ServiceName
  readonly traits: Traits
  readonly client: UntypedClient
  /** Another client, closed after the scenario. */
  connect(options?: { readonly timeout?: number }): UntypedClient
  /** Waits until the service has logged a text. */
  logged(text: string): Promise<void>
}

/** Something that takes more than one call. */
export interface Scenario {
  readonly name: string
  /** Only where services have it: patterns with wildcards are of our functional API and its controllers. */
  readonly of?: readonly ServiceName[]
  /** Only where this pattern can be carried. */
  readonly pattern?: string
  run(given: Given): Promise<void>
}

/** The expectation there: the one for all places, or the one that replaces it. */
export function expectedOn<What>(
  transport: Where,
  service: ServiceName,
  usual: What,
  differs: readonly Difference<What>[] = []
): { readonly what: What; readonly because?: string } {
  const found = differs.find(
    ({ on, of }) => (on === undefined || on(transport)) && (of === undefined || of.includes(service))
  )
  return found === undefined ? { what: usual } : { what: found.instead, because: found.because }
}
