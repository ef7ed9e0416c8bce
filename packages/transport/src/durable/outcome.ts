/** Decides what happens to an event whose handler has failed, or has never ended. */
import { Discard, RetryLater, ValidationError } from '../errors/index.ts'
import { ErrorAnswer, EventHandlersError, isNoHandler } from '../failure.ts'
import { type DurableSettings, pauseAfter } from './options.ts'

/** Decision about an event whose handler has failed. */
export type Outcome =
  /** The event is delivered again after `delay` milliseconds. */
  | { readonly kind: 'retry'; readonly delay: number; readonly reason: string }
  /** The event is stored as a dead letter. */
  | { readonly kind: 'dead'; readonly reason: string }
  /** The handler has discarded the event. */
  | { readonly kind: 'discard'; readonly reason: string }

/**
 * Most runs beyond `attempts`, after which an event becomes a dead letter: its handler asked for a later delivery each
 * time, or its process ended before it could say anything.
 */
const MOST_BEYOND = 20
/** Longest reason that is stored, in characters. */
const MOST_REASON = 1_000

/**
 * Decides what happens after a failure. Never throws, whatever value the handler has thrown.
 * @param attempt deliveries so far, from 1
 */
export function outcomeOf(error: unknown, attempt: number, { retry }: DurableSettings): Outcome {
  const failures = failuresIn(error)
  const reason = asText(failures.map(reasonFor).join('; '))
  const kinds = new Set(failures.map(kindOf))
  if (!kinds.has('failure')) {
    if (kinds.has('later')) return { kind: 'retry', delay: latest(failures), reason }
    return { kind: kinds.has('hopeless') ? 'dead' : 'discard', reason }
  }
  if (attempt >= retry.attempts) return { kind: 'dead', reason }
  return { kind: 'retry', delay: pauseAfter(retry, attempt), reason }
}

/**
 * The reason for which an event is not given to its handler any more; `undefined`: it is given to it.
 * @param attempt runs of the handler so far, and this one. Deliveries during which the event only waited are no runs:
 * an event that has never run is never given up.
 */
export function reasonToGiveUp(attempt: number, { retry }: DurableSettings): string | undefined {
  if (attempt <= retry.attempts + MOST_BEYOND) return undefined
  return `The event's handler has begun ${attempt - 1} times, ${MOST_BEYOND} more than durable.retry.attempts: it asked for a later delivery each time (RetryLater), or its process ended`
}

/**
 * Is thrown by an engine in place of running an event, when it learns only then that the event must become a dead
 * letter.
 */
export class GivenUp {
  /** Why, as `reasonToGiveUp` returns it. */
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

type Kind = 'failure' | 'later' | 'hopeless' | 'discard'

function kindOf(thrown: unknown): Kind {
  try {
    const error = unwrapped(thrown)
    if (error instanceof Discard) return 'discard'
    if (error instanceof RetryLater) return 'later'
    // Data that fails its schema fails the next time as well. A validation error from another service is an ordinary
    // failure.
    if (error instanceof ValidationError && error.received === undefined) return 'hopeless'
    return error instanceof GivenUp || isNoHandler(error) ? 'hopeless' : 'failure'
  } catch {
    // The error is a revoked Proxy, which throws when it is read.
    return 'failure'
  }
}

/** Unwraps the handler's own error: in a Nest application, filters and `RpcException` wrap it. */
function unwrapped(error: unknown): unknown {
  if (error instanceof ErrorAnswer) return error.value
  const { getError } = Object(error) as { getError?: unknown }
  return typeof getError === 'function' ? (getError.call(error) as unknown) : error
}

function latest(failures: readonly unknown[]): number {
  return Math.max(
    ...failures.map((error) => (kindOf(error) === 'later' ? (unwrapped(error) as RetryLater).delay : 0))
  )
}

function failuresIn(error: unknown): readonly unknown[] {
  try {
    if (error instanceof EventHandlersError && error.errors.length > 0) return error.errors as unknown[]
  } catch {}
  return [error]
}

/**
 * The reason as every store can keep it: a database refuses a character 0 and half of a character, as a text that is cut
 * may have at its end, and with them all that is written together.
 */
function asText(reason: string): string {
  return reason.slice(0, MOST_REASON).replaceAll(/\0|\p{Cs}/gu, '\uFFFD')
}

/** Returns a text unchanged and any other value as JSON, because `String` turns an object into `[object Object]`. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}

function reasonFor(error: unknown): string {
  try {
    if (error instanceof ErrorAnswer) return reasonFor(error.value)
    const content = unwrapped(error)
    // Nest's `RpcException` has its content in the value with which it was made.
    if (typeof content === 'object' && content !== null && content !== error) return reasonFor(content)
    if (error instanceof Error) return `${error.name}: ${textOf(error.message)}`
    if (typeof error !== 'object' || error === null) return String(error)
    const { message } = error as { message?: unknown }
    return typeof message === 'string' ? message : textOf(error)
  } catch {
    return 'An error that cannot be read'
  }
}
