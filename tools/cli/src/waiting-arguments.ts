/** The arguments of `waiting`. */
import { OptionError, type Pattern } from '@elysia-microservices/transport/kit'

/** The commands for events that wait. */
const ACTIONS = ['list', 'cancel', 'fire'] as const

/** A command, and the events that it applies to. */
export interface Waiting {
  readonly action: (typeof ACTIONS)[number]
  /** `undefined`: all patterns are listed. */
  readonly pattern: Pattern | undefined
  readonly ids: readonly string[]
}

/** The value for commands that have nothing to do with events that wait. */
export const NO_WAITING: Waiting = { action: 'list', pattern: undefined, ids: [] }

/**
 * Reads the arguments of `waiting`.
 * @param patternOf reads a pattern
 * @throws {OptionError} the arguments are invalid
 */
export function readWaiting(
  action: string | undefined,
  [pattern, ...ids]: readonly string[],
  patternOf: (text: string) => Pattern
): Waiting {
  const known = ACTIONS.find((one) => one === action)
  if (known === undefined)
    throw new OptionError(
      'command',
      `waiting must be followed by one of ${ACTIONS.join(', ')}, and then the url`
    )
  if (known === 'list' && ids.length > 0)
    throw new OptionError('arguments', 'waiting list does not take ids; limit the list with --count')
  if (known !== 'list' && ids.length === 0)
    throw new OptionError('arguments', `waiting ${known} needs a pattern and ids after the url`)
  return { action: known, pattern: pattern === undefined ? undefined : patternOf(pattern), ids }
}
