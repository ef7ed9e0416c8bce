/** The types of the tables of cases: callers get the same results over every transport. */
import type { Pattern } from 'elysia-microservices'
import type { CallOptions, UntypedClient } from 'elysia-microservices/client'

/** The transport of messages: TCP in one of its protocols, or an engine by its title. */
export type TransportName = 'RSocket' | "Nest's wire" | (string & {})
/** The form in which data travels: encoded by our codecs, or as Nest's JSON packets. */
export type Carriage = 'codecs' | 'packets'
/** The service that answers: our functional API, controllers in our service, or the same classes in Nest. */
export type ServiceName = 'handlers' | 'controllers' | 'a Nest application'

/** The parts of an error that its caller sees. */
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
  /** A text that the log of the service must contain. */
  readonly logs?: string
}

/** A documented difference: the outcome that replaces the usual one. */
export interface Difference<What> {
  readonly on?: (transport: Where) => boolean
  readonly of?: readonly ServiceName[]
  readonly because: string
  readonly instead: What
}

/** The properties of a transport by which differences are chosen. */
export interface Where {
  readonly name: TransportName
  readonly carriage: Carriage
}

/** A call, and its outcome: the same by `request`, by `send` and by `stream`. */
export interface AnswerCase {
  readonly name: string
  readonly pattern: Pattern
  readonly data?: unknown
  readonly options?: CallOptions
  readonly outcome: Outcome
  readonly differs?: readonly Difference<Outcome>[]
}

/** Properties in which transports differ. */
export interface Traits {
  /** When a handler is told that its caller no longer waits: at once, or when the connection closes. */
  readonly cancels: 'at once' | 'with the connection'
  /** Whether callers send their timeout, so that the service gives up at the same time. */
  readonly tellsTimeout: boolean
  /** How a reader asks a generator: for values one by one, for as many as the bytes of a window hold, or for all. */
  readonly demand: 'values' | 'bytes' | 'none'
  /** Whether services receive events without a handler, and log them. */
  readonly hearsUnknownEvents: boolean
  /** Whether the sender of an event hears that it was refused, or that it has no handler. */
  readonly tellsRefusedEvents: boolean
  /** Whether a request does not overtake events of other patterns that were sent before it. */
  readonly keepsOrderOfPatterns: boolean
  /** Whether wildcards are `+` and `#` between slashes. */
  readonly hasLevels: boolean
  /** Patterns may be objects. */
  readonly carriesObjects: boolean
  /** Streams can be sent as data. */
  readonly hasChannels: boolean
  /** The failure of a stream that is sent as data is told to its reader, with its content. */
  readonly tellsInputFailures: boolean
  /** Answers have headers. */
  readonly hasAnswerHeaders: boolean
  /** Headers are those of HTTP, which are ASCII. */
  readonly headersOfHttp: boolean
  /** The address of the other side; `undefined`: there is no connection. */
  readonly peerAddress: string | undefined
}

/** The client and the service that a scenario uses. */
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

/** A case with several calls. */
export interface Scenario {
  readonly name: string
  /**
   * The kinds of services that have the case: patterns with wildcards exist only in our functional API and its
   * controllers.
   */
  readonly of?: readonly ServiceName[]
  /** A pattern that the transport must be able to carry. */
  readonly pattern?: string
  run(given: Given): Promise<void>
}

/** The expected outcome on a transport: the usual one, or the one of a documented difference. */
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
