/**
 * `Carrier` and `Engine`: the interfaces that an engine implements, so that calls, streams and channels run over it.
 */
import type { Headers } from '../headers.ts'
import type { Wildcards } from '../wildcards.ts'
import type { Subject } from './server/subjects.ts'

/** The body of a message: as text or as bytes of UTF-8, whichever the engine has. */
export type Words = string | Uint8Array

/** Headers on their way out; a name may have several values. */
export type CarriedHeaders = Readonly<Record<string, string | readonly string[]>>

/** A message that has come. */
export interface Carried {
  /** Where it was published to. */
  readonly address: string
  readonly words: Words
  /** Where its sender wants the answer; empty: nowhere. */
  readonly reply: string
  /** Its headers; several values of a name with commas between. `undefined` if it has none. */
  readonly headers: Headers | undefined
  /** The engine's own word that nobody listens at the address we published to, with this `address` as our reply. */
  readonly isNobody?: boolean
  /** It came in parts, and not whole: why. Only `inParts` sets it. */
  readonly refusal?: Error
  /** Is told when its handling is over, or nobody handles it; perhaps more than once. */
  readonly ended?: () => void
}

/** Something that sends much, and waits while there is no room. */
export interface Sender {
  /** There may be room again. */
  resume(): void
}

/** One connection to an engine. Between two addresses messages keep their order. */
export interface Carrier {
  /** False while the server is lost; what is published meanwhile is held until there is one again. */
  readonly isConnected: boolean
  /** Where the server is, for errors and logs. */
  readonly server: string
  /** The largest message in bytes, headers included; `Infinity`: no limit. */
  readonly maxPayload: number
  /** Address at which all services listen: callers ask there about calls of which they have heard nothing. */
  readonly everyone: string
  /** A new address that nobody can guess and only this connection has; ends in `.`, and what is behind it comes here, too. */
  newInbox(): string
  /**
   * Where our services take requests for an address that left together; `undefined`: nowhere. Who publishes there
   * hears if nobody listens. Default: nowhere.
   */
  togetherAt?(address: string): string | undefined
  /** Whether answers may be published to an address: it is an inbox, and nothing else on the engine. */
  isInbox(address: string): boolean
  /**
   * Publishes to an address.
   * @param reply where the answer is wanted
   * @param expires milliseconds after which nobody waits for it: an engine that keeps what nobody takes may drop it then
   */
  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void
  /**
   * A call is over, or an attempt at it: nobody waits for answers at its reply address any more. Missing at the moment, or
   * always: nothing is kept for calls. @param head what every reply address of the call begins with
   */
  readonly over?: ((head: string) => void) | undefined
  /** Publishes an event for the handlers of a route, Nest's included. @param reply hears if nobody listens */
  emit(address: string, packet: string, reply: string | undefined, headers: CarriedHeaders | undefined): void
  /**
   * Receives what is published to an address, or behind it if it ends in `.`.
   * @param refused the engine does not allow it
   */
  listen(address: string, receive: (message: Carried) => void, refused?: (error: Error) => void): void
  /**
   * Receives what is published to the subjects of a service, and to where requests for them leave together, shared with
   * the other members of each queue. The address of a message is that of the subject in both cases.
   * @throws {ListenError} the engine does not allow it
   */
  take(subjects: readonly Subject[], receive: (subject: Subject, message: Carried) => void): Promise<void>
  /** Takes nothing new; resolves when what the server has already sent has been received. */
  leave(): Promise<void>
  /** Whether a stream may send more now. If not, the sender is called when it may. */
  hasRoomFor(sender: Sender): boolean
  /** Runs a task when the current turn of the event loop is over. */
  atTurnEnd(task: () => void): void
  /** Resolves when the server has everything that was published. Rejects if it is lost before. */
  flush(): Promise<void>
  /** Sends what was published, if there is a server, and closes. */
  close(): Promise<void>
}

/** Is told what becomes of a connection. */
export interface CarrierListener {
  /** The server is lost; the carrier looks for it, or for another. */
  lost(): void
  /** There is a server again. */
  restored(): void
  /** The server does not let this user publish to an address, or listen to it. */
  refused(address: string, operation: 'publish' | 'listen', error: Error): void
  /** Called when a message cannot be published; what it throws is thrown to the publisher. */
  unpublished(address: string, error: Error): void
  /** Handling a message has failed. */
  failed(error: unknown): void
  /** The connection is over, and not because it was closed. */
  ended(error: Error | undefined): void
}

/** Data with headers of its own, such as Nest's `NatsRecord`. */
export interface DataRecord {
  readonly data: unknown
  readonly headers: CarriedHeaders | undefined
}

/** An engine, as its client and its server need it. */
export interface Engine<Connection extends Carrier = Carrier> {
  /** The name of the transport, such as `'nats'`. */
  readonly name: string
  /** Its name in errors and logs, such as `'NATS'`. */
  readonly title: string
  /** Where its servers are expected, for errors. */
  readonly where: string
  /** The syntax of patterns that stand for several addresses. Default: `*` and `>`, by segments between dots. */
  readonly wildcards?: Wildcards
  /**
   * Connects.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  open(listener: CarrierListener): Promise<Connection>
  /**
   * Why it has no address for a pattern, in words, and what to do: "it has a blank; write '-' or '_' in its place".
   * `undefined`: it has one, the pattern itself. Wildcards are allowed here; who calls may have none.
   */
  whyNot(route: string): string | undefined
  /** Data with headers of its own, known by the class of the engine's Nest record. */
  recordOf?(value: unknown): DataRecord | undefined
  /** Why a header cannot be sent, because the engine would change it, or act by it: "has a blank". `undefined`: it can. */
  whyNoHeader?(name: string, value: string | readonly string[]): string | undefined
  /** The error that a service of another system has answered with; `undefined`: it is none. */
  foreignError?(message: Carried): Error | undefined
  /** Headers that tell callers of other systems of an error. */
  foreignErrorHeaders?(code: string | undefined, message: string): CarriedHeaders
  /** The error in an answer that the engine itself gives to a request that it has stored; the call fails with it. */
  engineAnswer?(body: unknown, pattern: string): Error | undefined
  /** Lets the engine do more on a connection, such as discovery. Called when a service listens. */
  listening?(connection: Connection, subjects: readonly Subject[]): void
}
