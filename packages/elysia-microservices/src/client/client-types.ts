/** The types of clients: a typed one from the type of a service, and one for services without types. */
import type { CallOptions, Pattern } from '@elysia-microservices/transport'
import type { Observable } from 'rxjs'
import type { EventTypes, MessageTypes } from '../service-types.ts'

/** What both kinds of client have. */
interface ClientBase {
  /**
   * Connects now; calls do it by themselves otherwise.
   * @throws {ConnectionError} nobody listens there
   */
  connect(): Promise<void>
  /** Closes; calls that still wait fail with a `ConnectionError`. A closed client cannot be used again. */
  close(): Promise<void>
}

type NameOf<Types> = keyof Types & string

/** What a caller may give for data: a handler that takes an async iterable takes any stream of its values. */
export type Input<Data> =
  Data extends AsyncIterable<infer Value> ? AsyncIterable<Value> | Observable<Value> | Generator<Value> : Data

/** Arguments behind the pattern: data may be left out where the handler takes none. */
type Arguments<Data, Options> = undefined extends Data
  ? [data?: Input<Data>, options?: Options]
  : [data: Input<Data>, options?: Options]

/** Options of an event. */
export type EmitOptions = Pick<CallOptions, 'headers'>

/** A client that knows the patterns of its service. */
export interface Client<Messages extends MessageTypes, Events extends EventTypes> extends ClientBase {
  /**
   * Asks once and gives the first value of the answer; `undefined` if it ends without one.
   * @throws {RpcError} the handler said so, {@link PatternNotFoundError} if there is none
   * @throws {TimeoutError | CanceledError | ConnectionError} no answer came
   */
  request<Name extends NameOf<Messages>>(
    pattern: Name,
    ...args: Arguments<Messages[Name]['data'], CallOptions>
  ): Promise<Messages[Name]['value']>
  /** A cold Observable, as Nest's: each subscription asks anew, unsubscribing gives the call up. */
  send<Name extends NameOf<Messages>>(
    pattern: Name,
    ...args: Arguments<Messages[Name]['data'], CallOptions>
  ): Observable<Messages[Name]['value']>
  /** All values of the answer, in order. Leaving the loop gives the call up. */
  stream<Name extends NameOf<Messages>>(
    pattern: Name,
    ...args: Arguments<Messages[Name]['data'], CallOptions>
  ): AsyncIterableIterator<Messages[Name]['value']>
  /** Sends an event. Resolves once it is handed to the connected socket; nobody answers an event. */
  emit<Name extends NameOf<Events>>(
    pattern: Name,
    ...args: Arguments<Events[Name], EmitOptions>
  ): Promise<void>
}

/** A client for any service: patterns of every kind, the caller says what type the answer has. */
export interface UntypedClient extends ClientBase {
  /** See {@link Client.request}. */
  request<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Value>
  /** See {@link Client.send}. */
  send<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Observable<Value>
  /** See {@link Client.stream}. */
  stream<Value = unknown>(
    pattern: Pattern,
    data?: unknown,
    options?: CallOptions
  ): AsyncIterableIterator<Value>
  /** See {@link Client.emit}. */
  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<void>
}

/** The client of a service, from the type of the service. */
export type ClientOf<Service> = Service extends {
  readonly '~messages'?: infer Messages
  readonly '~events'?: infer Events
}
  ? Client<Extract<Messages, MessageTypes>, Extract<Events, EventTypes>>
  : never
