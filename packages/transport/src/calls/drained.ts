/** Waits for calls in flight before a client is closed. */
import { ConnectionError } from '../errors/index.ts'
import { LONGEST_TIME, milliseconds } from '../options.ts'
import type { PendingCall } from './pending-call.ts'

/** Options of `client.close()`. */
export interface CloseOptions {
  /** Milliseconds that calls in flight may still take; new calls fail at once. Default: 0, calls in flight fail. */
  readonly drain?: number | undefined
}

/** Fails a call of a client that is being closed. */
export function refuseCall(call: PendingCall): void {
  call.fail(ConnectionError.closed(false))
}

/** Milliseconds between two looks at the number of calls. Only a client that is being closed looks. */
const LOOK = 5

/**
 * Resolves when no call is in flight, at the latest after `drain` milliseconds.
 * @throws {OptionError} `drain` is not a number of milliseconds
 */
export async function drained(inFlight: () => number, drain: number): Promise<void> {
  milliseconds(0, 'options.drain', drain)
  const end = performance.now() + Math.min(drain, LONGEST_TIME)
  while (inFlight() > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, LOOK))
}
