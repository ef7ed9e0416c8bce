/** The types a service carries: which patterns it answers, with what data and what values. */
import type { IncomingMessage, Pattern } from '@elysia-microservices/transport'
import type { Observable } from 'rxjs'

/** What a message pattern takes and gives. */
export interface MessageType<Data = unknown, Value = unknown> {
  /** What callers send. */
  readonly data: Data
  /** What one answer, or each value of a stream, is. */
  readonly value: Value
}

/** The message patterns of a service by name. */
export type MessageTypes = { readonly [pattern: string]: MessageType }

/** The event patterns of a service by name, each with its data. */
export type EventTypes = { readonly [pattern: string]: unknown }

/** What a handler gets: data, pattern, headers, signal. */
export type Message<Data = unknown> = IncomingMessage<Data>

/** A function that answers a message: with a value, or a promise, Observable or (async) iterator of values. */
export type MessageHandler<Data = unknown, Result = unknown> = (message: Message<Data>) => Result

/** A function that takes an event. What it returns is awaited or subscribed to, and then dropped. */
export type EventHandler<Data = unknown> = (message: Message<Data>) => unknown

/** One pattern, or several that one handler answers. */
export type Patterns = Pattern | readonly Pattern[]

/** The values a caller receives from a handler that returns `Result`. */
export type ValueOf<Result> =
  Awaited<Result> extends Observable<infer Value>
    ? Value
    : Awaited<Result> extends AsyncIterable<infer Value>
      ? Value
      : Awaited<Result> extends Generator<infer Value>
        ? Value
        : Awaited<Result>
