/** A client of a page, as the load uses it. */
import type { SmallRecord } from '../../payload/samples.ts'

export interface User {
  readonly id: string
  readonly name: string
}

/** Names of the streams: many small values, or 64 KB every millisecond without an end. */
export type StreamName = 'records' | 'blocks'

export interface WebPeer {
  /** Asks for a user. */
  user(id: string): Promise<User>
  /** Reads a stream to its end. */
  read(name: StreamName, value: (value: SmallRecord | string) => void): Promise<void>
}

/** Reads what can be iterated. */
export async function readAll<T>(values: AsyncIterable<T>, take: (value: T) => void): Promise<void> {
  for await (const value of values) take(value)
}
