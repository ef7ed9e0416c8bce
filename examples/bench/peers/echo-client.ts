/** The interface of every peer's client for a load. One `EchoClient` is one connection. */
import type { Tls } from '../options/custom-options.ts'
import type { Payload } from '../payload/payload.ts'
import type { Task } from '../task/task.ts'

/** A pattern, as in NestJS: a name, or an object such as `{ cmd: 'sum' }`. */
export type Pattern = string | Readonly<Record<string, string | number>>

export const methods = ['request', 'send'] as const
/**
 * How a client with two ways makes requests: in the cheapest way (our promise, or subscribing to NestJS's
 * Observable), or by `firstValueFrom` with an Observable, as most applications do.
 */
export type Method = (typeof methods)[number]

export const protocols = ['rsocket', 'nest'] as const
/** The protocols of our own client. Other clients have only one. */
export type Protocol = (typeof protocols)[number]

export const codecs = ['json', 'bytes', 'msgpack', 'shapes'] as const
/** The encoding of data by our own client over RSocket. */
export type Codec = (typeof codecs)[number]

/** The settings of a client; each client uses those that it supports. */
export interface ClientPlan {
  readonly method: Method
  readonly protocol: Protocol
  readonly codec: Codec
  /** The pattern and headers of requests: those of the echo, or those for a service of the user. */
  readonly pattern: Pattern
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The TLS options of the connection; `undefined`: no TLS. */
  readonly tls: Tls | undefined
  /** The only payload that the client will send. */
  readonly payload: Payload
  /** The task that it will be used for. */
  readonly task: Task
  /** The most durable events in flight at a time. */
  readonly window: number
}

/** Receives the values of a stream: any number of values, then one call of `ended` or `failed`. */
export interface StreamReader {
  /** Receives a value. If it returns a promise, the next value is only wanted after the promise has resolved. */
  value(value: unknown): Promise<unknown> | undefined
  ended(): void
  failed(reason: unknown): void
}

export interface EchoClient {
  /** Sends one request. Exactly one of the two callbacks is called, once. */
  echo(payload: unknown, answered: (answer: unknown) => void, failed: (reason: unknown) => void): void
  /**
   * Opens a stream of this many records, as users of the peer read one. `undefined`: the peer has no streams.
   *
   * @returns a function that leaves the stream early; the end or the failure is still reported to the reader
   */
  stream?(count: number, reader: StreamReader): () => void
  /** Sends an event; resolves when the client reports that the event was sent. `undefined`: the peer has no events. */
  emit?(payload: unknown): Promise<unknown>
  /** Stores this many events, and prepares to receive them. `undefined`: the peer stores no events. */
  fill?(count: number): Promise<void>
  /** More events than the client handles per second. Default: more than any peer handles. */
  readonly takesAtMost?: number
  /** Begins to receive stored events; `take` is called with the data of each, in any order. */
  takeStored?(take: (data: unknown) => void): Promise<void>
  close(): Promise<void>
}

/** Connects. Rejects if the server cannot be reached. */
export type OpenEchoClient = (host: string, port: number, plan: ClientPlan) => Promise<EchoClient>
