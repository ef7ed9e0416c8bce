/** The interface of every peer's client to a load. One `EchoClient` is one connection. */
import type { Tls } from '../options/custom-options.ts'
import type { Payload } from '../payload/payload.ts'
import type { Task } from '../task/task.ts'

/** As Nest has them: a name, or an object such as `{ cmd: 'sum' }`. */
export type Pattern = string | Readonly<Record<string, string | number>>

export const methods = ['request', 'send'] as const
/**
 * How a client asks that has two ways: the cheapest (our promise, subscribing to Nest's Observable), or
 * `firstValueFrom` around an Observable, which is what most applications write.
 */
export type Method = (typeof methods)[number]

export const protocols = ['rsocket', 'nest'] as const
/** The protocols of our own client. Other clients have one only. */
export type Protocol = (typeof protocols)[number]

export const codecs = ['json', 'bytes', 'msgpack'] as const
/** How our own client encodes data on RSocket. */
export type Codec = (typeof codecs)[number]

/** How a client is made and used; each takes from it what it has a choice in. */
export interface ClientPlan {
  readonly method: Method
  readonly protocol: Protocol
  readonly codec: Codec
  /** The pattern and headers of requests: an echo without headers, but for a service of the user's own. */
  readonly pattern: Pattern
  readonly headers: Readonly<Record<string, string>> | undefined
  /** How the connection is protected; `undefined`: not at all. */
  readonly tls: Tls | undefined
  /** The only thing it will ever be asked to echo, or to send as an event. */
  readonly payload: Payload
  /** The task that it will be used for. */
  readonly task: Task
  /** Events that may be in flight at a time, where events are stored. */
  readonly window: number
}

/** Takes the values of a stream: any number, then one `ended` or one `failed`. */
export interface StreamReader {
  /** Takes a value. A promise: it wants no more until that has resolved. */
  value(value: unknown): Promise<unknown> | undefined
  ended(): void
  failed(reason: unknown): void
}

export interface EchoClient {
  /** Sends one request. One of the two callbacks is called, once. */
  echo(payload: unknown, answered: (answer: unknown) => void, failed: (reason: unknown) => void): void
  /**
   * Asks for a stream of so many records, in the way its users read one. Absent: it has no streams.
   *
   * @returns leaves the stream before its end; the reader is told of its end, or of a failure, all the same
   */
  stream?(count: number, reader: StreamReader): () => void
  /** Sends an event; resolves when the client says that it is sent. Absent: it has no events. */
  emit?(payload: unknown): Promise<unknown>
  /** Stores so many events, and is ready to take them. Absent: it stores none. */
  fill?(count: number): Promise<void>
  /** More events than it takes in a second. Default: more than anybody here takes. */
  readonly takesAtMost?: number
  /** Begins to take what is stored; `take` hears the data of each, in whatever order. */
  takeStored?(take: (data: unknown) => void): Promise<void>
  close(): Promise<void>
}

/** Connects; rejects when the server cannot be reached. */
export type OpenEchoClient = (host: string, port: number, plan: ClientPlan) => Promise<EchoClient>
