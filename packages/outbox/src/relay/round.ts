/** The result of a round of a relay. */
import type { Outcome } from './chains.ts'

/**
 * The result of a round. `standby`: another relay publishes; `nothing`: there were no events; `some`: at least one
 * event was published; `none published`: all attempts failed; `unanswered`: no attempt has ended yet.
 */
export type Round = 'standby' | 'nothing' | 'some' | 'none published' | 'unanswered'

/** The result of a round in which attempts have ended; `undefined` if none has. */
export function roundOf({ published, failures }: Outcome): 'some' | 'none published' | undefined {
  if (published.length > 0 || failures.some(({ pause }) => pause === null)) return 'some'
  return failures.length > 0 ? 'none published' : undefined
}
