/** A message of `memory()` that is sent or stored. */
import type { Source } from '../caller-name.ts'
import type { MessageHeaders } from '../headers.ts'

/** A message between client and server. */
export interface MemoryMessage {
  /** The pattern as text; an object pattern as JSON. */
  readonly pattern: string
  readonly route: string
  /** The encoded data; `undefined` for a channel, whose values are sent one by one. */
  readonly data: Uint8Array | undefined
  /** A copy of the caller's headers, because a wire would copy them, too. */
  readonly headers: MessageHeaders | undefined
  readonly timeout: number | undefined
  /** Milliseconds for the whole stream; missing: no limit. */
  readonly lifetime?: number | undefined
  /** The sender. Missing for a stored message, whose sender is not stored. */
  readonly source?: Source | undefined
}
