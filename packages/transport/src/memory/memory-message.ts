/** A message of `memory()` on its way, or stored. */
import type { Source } from '../caller-name.ts'
import type { Headers } from '../headers.ts'

/** A message between client and server. */
export interface MemoryMessage {
  /** The pattern as text; an object pattern as JSON. */
  readonly pattern: string
  readonly route: string
  /** The encoded data; `undefined` for a channel, whose values come one by one. */
  readonly data: Uint8Array | undefined
  /** A copy of the caller's headers, as a wire would make. */
  readonly headers: Headers | undefined
  readonly timeout: number | undefined
  /** The sender. Missing for a stored message, whose sender nobody knows. */
  readonly source?: Source | undefined
}
