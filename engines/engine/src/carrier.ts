/**
 * `Carrier` and `Engine`: the interfaces that an engine implements, so that calls, streams and channels run over it.
 */
import type { MessageHeaders, Settlement, Wildcards } from '@elysia-microservices/transport/kit'
import type { Subject } from './server/subjects.ts'

/**
 * The body of a message: text, or any bytes. A message that is larger than `maxPayload` is sent in parts, and a part may
 * end within a character: an engine that carries only text must encode bytes, such as in Base64.
 */
export type Words = string | Uint8Array

/** Headers of a message to be sent; a name may have several values. */
export type CarriedHeaders = Readonly<Record<string, string | readonly string[]>>

/** A message that has arrived. */
export interface Carried {
  /** The address to which the message was published. */
  readonly address: string
  readonly words: Words
  /** The address for the answer; empty if the sender wants none. */
  readonly reply: string
  /**
   * The headers of the message; several values of one name are joined with commas. `undefined` if the message has no
   * headers.
   */
  readonly headers: MessageHeaders | undefined
  /**
   * The message is the engine's notice that nobody listens at the address of a message that we published with this
   * `address` as its reply address.
   */
  readonly isNobody?: boolean
  /** Why a message that was sent in parts did not arrive whole. Only `inParts` sets it. */
  readonly refusal?: Error
  /** Called when the handling of the message has ended, or if nobody handles it; perhaps more than once. */
  readonly ended?: () => void
  /** Settles the message before its handling has ended; after that, `ended` does nothing. */
  readonly settle?: (as: Settlement) => void
}

/** A stream that sends many messages, and waits while there is no room. */
export interface Sender {
  /** Called when there may be room again. */
  resume(): void
}

/** One connection to an engine. Messages from one address to another stay in order. */
export interface Carrier {
  /** False while the server is lost. Messages published meanwhile are held until the server is back. */
  readonly isConnected: boolean
  /** The address of the server, for errors and logs. */
  readonly server: string
  /** The largest message in bytes, headers included; `Infinity`: no limit. */
  readonly maxPayload: number
  /**
   * Address at which all services listen: callers send questions there about calls of which they have heard nothing.
   */
  readonly everyone: string
  /**
   * Makes a new address that nobody can guess and only this connection uses. It ends in `.`, and the connection also
   * receives messages for all addresses that begin with it.
   */
  newInbox(): string
  /**
   * The address at which our services take batches of requests for an address; `undefined`: none. The publisher of a
   * batch gets a notice if nobody listens. Default: none.
   */
  togetherAt?(address: string): string | undefined
  /** Returns whether an address is an inbox: only then an answer may be published to it. */
  isInbox(address: string): boolean
  /**
   * Publishes to an address.
   * @param reply the address for the answer
   * @param expires milliseconds after which nobody waits for the message: an engine that keeps messages until they are
   * taken may then drop it
   */
  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void
  /**
   * A call or its current attempt has ended: nobody waits for answers at its reply address any more. Missing if the
   * carrier stores nothing for calls.
   * @param head the beginning of every reply address of the call
   */
  readonly over?: ((head: string) => void) | undefined
  /**
   * Publishes an event for the handlers of a route, those of Nest included.
   * @param reply the address that gets a notice if nobody listens
   */
  emit(address: string, packet: string, reply: string | undefined, headers: CarriedHeaders | undefined): void
  /**
   * Receives messages that are published to an address; if the address ends in `.`, also messages for all addresses
   * that begin with it. After a `flush` none of them is missed.
   * @param refused is called if the engine does not allow to listen
   */
  listen(address: string, receive: (message: Carried) => void, refused?: (error: Error) => void): void
  /**
   * Receives messages that are published to the subjects of a service, and batches of requests for these subjects. The
   * members of each queue share the messages. The address of a message is always that of its subject.
   * @throws {ListenError} the engine does not allow to listen
   */
  take(subjects: readonly Subject[], receive: (subject: Subject, message: Carried) => void): Promise<void>
  /** Stops taking new messages; resolves when the messages that the server has already sent were received. */
  leave(): Promise<void>
  /** Returns whether a stream may send more now. If not, the carrier calls `resume` of the sender later. */
  hasRoomFor(sender: Sender): boolean
  /** Runs a task when the current turn of the event loop is over. */
  atTurnEnd(task: () => void): void
  /**
   * Resolves when the server has received every published message, and delivers to every address of `listen`. Rejects if
   * the server is lost before.
   */
  flush(): Promise<void>
  /** Sends the published messages, if there is a server, and closes the connection. */
  close(): Promise<void>
}

/** Gets the events of a connection. */
export interface CarrierListener {
  /**
   * Aborts when nobody wants the connection any more. An attempt to connect that is under way, the first one or a later
   * one, then ends at once, with its sockets; a connection that stands stays until it is closed. Default: never.
   */
  readonly signal?: AbortSignal
  /**
   * The server is lost; the carrier tries to reach this server or another one.
   * @param why the reason, if a user can change it
   */
  lost(why?: string): void
  /** The carrier is connected to a server again. */
  restored(): void
  /**
   * The server takes no messages from this connection at the moment, and messages wait in this process.
   * @param reason as the server gives it; `undefined`: the server takes messages again
   */
  halted?(reason: string | undefined): void
  /** The server does not let this user publish to an address, or listen at it. */
  refused(address: string, operation: 'publish' | 'listen', error: Error): void
  /** Called when a message cannot be published; an error that `unpublished` throws is thrown to the publisher. */
  unpublished(address: string, error: Error): void
  /** The handling of a message has failed. */
  failed(error: unknown): void
  /** The connection has ended without a call of `close`. */
  ended(error: Error | undefined): void
}

/** Data with its own headers, such as Nest's `NatsRecord`. */
export interface DataRecord {
  readonly data: unknown
  readonly headers: CarriedHeaders | undefined
}

/** The interface of an engine that its client and its server use. */
export interface Engine<Connection extends Carrier = Carrier> {
  /** The name of the transport, such as `'nats'`. */
  readonly name: string
  /** The name of the engine in errors and logs, such as `'NATS'`. */
  readonly title: string
  /** The configured address of the engine's servers, for errors. */
  readonly where: string
  /** The option that gives each user its own inboxes. Default: the engine has none. */
  readonly inboxOption?: string
  /** The syntax of wildcards in patterns. Default: `*` and `>`, for segments between dots. */
  readonly wildcards?: Wildcards
  /**
   * Opens a connection.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  open(listener: CarrierListener): Promise<Connection>
  /**
   * Why the engine has no address for a pattern, as text with advice: "it has a blank; write '-' or '_' in its place".
   * `undefined` if it has: then the pattern itself is the address. `whyNot` allows wildcards; the pattern of a call may
   * have none.
   */
  whyNot(route: string): string | undefined
  /** Reads data with its own headers, which is an instance of the engine's Nest record class. */
  recordOf?(value: unknown): DataRecord | undefined
  /**
   * Why a header cannot be sent, because the engine would change it or act on it, as the end of a sentence: "has a
   * blank". `undefined`: the header can be sent.
   */
  whyNoHeader?(name: string, value: string | readonly string[]): string | undefined
  /** The error with which a service of another system has answered; `undefined` if the message is no error. */
  foreignError?(message: Carried): Error | undefined
  /** Headers that tell callers on other systems about an error. */
  foreignErrorHeaders?(code: string | undefined, message: string): CarriedHeaders
  /** The error in an answer that the engine itself sends for a request which it has stored; the call fails with it. */
  engineAnswer?(body: unknown, pattern: string): Error | undefined
  /** Lets the engine start more on a connection, such as discovery. Called when a service listens. */
  listening?(connection: Connection, subjects: readonly Subject[]): void
}
