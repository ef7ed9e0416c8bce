/** Messages that the page asks the server to send. */
import type { Kind } from './services.ts'

/** A message that the page asks the server to send. */
export interface Trial {
  readonly service: string
  readonly kind: Kind
  readonly pattern: string
  /** The data; missing for a message without data. */
  readonly data?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A value of the answer, or the error of the call. */
export type TrialUpdate =
  /** `cut` is the number of characters that were left out. */
  { readonly value: string; readonly cut: number } | { readonly error: TrialError }

/** The error of a call. */
export interface TrialError {
  readonly code: string
  readonly message: string
  /** The details as JSON text. */
  readonly details?: string
}
