/** The arguments of `dead-letters`. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The commands for dead letters. */
const ACTIONS = ['list', 'redrive', 'discard'] as const

/** A command, and the dead letters that it applies to. */
export interface Letters {
  readonly action: (typeof ACTIONS)[number]
  readonly group: string
  readonly positions: readonly string[]
  /** Whether the command applies to all dead letters of the group, instead of `positions`. */
  readonly all: boolean
}

/** The value for commands that have nothing to do with dead letters. */
export const NO_LETTERS: Letters = { action: 'list', group: '', positions: [], all: false }

/**
 * Reads the arguments of `dead-letters`.
 * @throws {OptionError} the arguments are invalid
 */
export function readLetters(
  action: string | undefined,
  [group, ...positions]: readonly string[],
  all: boolean
): Letters {
  const known = ACTIONS.find((one) => one === action)
  if (known === undefined)
    throw new OptionError(
      'command',
      `dead-letters must be followed by one of ${ACTIONS.join(', ')}, and then the url`
    )
  if (group === undefined)
    throw new OptionError('group', 'dead-letters needs the name of a group after the url')
  if (known === 'list' && (all || positions.length > 0))
    throw new OptionError(
      'arguments',
      'dead-letters list does not take positions; limit the list with --count'
    )
  if (known !== 'list' && positions.length > 0 === all)
    throw new OptionError('arguments', `dead-letters ${known} needs positions after the group, or --all`)
  return { action: known, group, positions, all }
}
