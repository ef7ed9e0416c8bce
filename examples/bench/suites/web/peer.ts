/** The interface of a client in a page for the load. */
import type { SmallRecord } from '../../payload/samples.ts'

export interface User {
  readonly id: string
  readonly name: string
}

/** The names of the streams: many small values, or 64 KB every millisecond without an end. */
export type StreamName = 'records' | 'blocks'

export interface WebPeer {
  /** Requests a user. */
  user(id: string): Promise<User>
  /** Reads a stream to its end. */
  read(name: StreamName, value: (value: SmallRecord | string) => void): Promise<void>
}

/** Reads anything that can be iterated. */
export async function readAll<T>(values: AsyncIterable<T>, take: (value: T) => void): Promise<void> {
  for await (const value of values) take(value)
}
