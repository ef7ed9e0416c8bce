/** What callers get, whatever carries their calls: the forms of the tables. */
import type { Pattern } from 'elysia-microservices'
import type { CallOptions, UntypedClient } from 'elysia-microservices/client'

/** What carries messages: a connection of ours, or an engine by its title. */
export type TransportName = 'RSocket' | "Nest's wire" | (string & {})
/** What data travels in: what our codecs make of it, or Nest's packets of JSON. */
export type Carriage = 'codecs' | 'packets'
/** Who answers: our functional API, controllers in our service, the same classes in a Nest application. */
export type ServiceName = 'handlers' | 'controllers' | 'a Nest application'

/** How an error looks to its caller. */
export interface ErrorLook {
  readonly name: string
  readonly code: string
  readonly message: string
  readonly details?: unknown
}

/** What comes of a call: any number of values, then the end or an error. */
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

/** What transports cannot do, or do in another way. */
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

/** What a scenario works with. */
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

/** What holds there: what is said for all, or instead of it. */
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
