/** The entries of a ledger: calls, events, and the deviations that a life may have. */
import type { Circumstances } from './ages.ts'

/** A call. */
export interface Call {
  readonly what: string
  readonly isIdempotent: boolean
  /** The codes of errors with which it may fail; `undefined`: anything can happen to it. */
  readonly mayFailWith: readonly string[] | undefined
  /** When its time is over; `Infinity`: it has no limit. */
  readonly ends: number
  runs: number
  settled: number
  outcome: string
  mayHaveRun: boolean | undefined
}

/** An event. */
export interface Kept {
  readonly what: string
  readonly key: string
  readonly order: number
  /** Of a durable handler. */
  readonly pattern: string | undefined
  /** When it was or is to be stored, or earlier, in the world's time. */
  readonly since: number
  /** The place in the store, which every delivery tells: an event that is stored once has one. */
  position: string | undefined
  /** When it comes, by the wall clock; `undefined`: at once. */
  readonly due: number | undefined
  /** It was deleted before its time, or perhaps it was. */
  isCancelled: boolean | 'perhaps'
  /** Whether `publish` or `emit` has resolved. */
  isPromised: boolean
  /** Whether `publish` or `emit` has ended. */
  isSettled: boolean
  /** Whether it may have happened although nobody was promised it. */
  mayHaveRun: boolean
  /** How often its handlers of each group have begun, and how often they have done it. */
  readonly begun: Map<string, number>
  readonly done: Map<string, number>
}

/** Deviations from the promises that this life may have. */
export interface Allowed {
  /** Whether emitted events may be lost. */
  readonly mayLose: boolean
  /** Whether stored events may be handled twice. */
  readonly mayRepeat: boolean
  /** The same, for emitted events. */
  readonly mayDouble: boolean
  /** Whether calls and pauses may come late, or times may be wrong. */
  readonly mayBeLate: boolean
  /** Whether deliveries that never ran, because their process stopped, may count as attempts. */
  readonly mayCountMore: boolean
  /** Whether runs of another process may not count as attempts. */
  readonly mayCountLess: boolean
  /** Whether an event that ends its process comes again without end. */
  readonly mayBeEndless: boolean
  readonly ages: Circumstances
}
