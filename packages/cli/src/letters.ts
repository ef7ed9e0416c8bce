/** The arguments of `dead-letters`. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** Commands for dead letters. */
const ACTIONS = ['list', 'redrive', 'delete'] as const

/** A command, and the dead letters it is for. */
export interface Letters {
  readonly action: (typeof ACTIONS)[number]
  readonly group: string
  readonly positions: readonly string[]
  /** All of the group, in place of `positions`. */
  readonly all: boolean
}

/** Of commands that are not about dead letters. */
export const NO_LETTERS: Letters = { action: 'list', group: '', positions: [], all: false }

/**
 * Reads the arguments of `dead-letters`.
 * @throws {OptionError} they are invalid
 */
export function readLetters(
  action: string | undefined,
  [group, ...positions]: readonly string[],
  all: boolean
): Letters {
  const known = ACTIONS.find((one) => one === action)
  if (known === undefined)
    throw new OptionError('command', `dead-letters needs ${ACTIONS.join(', ')} behind it, before the url`)
  if (group === undefined)
    throw new OptionError('group', 'dead-letters needs the name of a group behind the url')
  if (known === 'list' && (all || positions.length > 0))
    throw new OptionError('arguments', 'dead-letters list has no use for positions; limit it by --count')
  if (known !== 'list' && positions.length > 0 === all)
    throw new OptionError('arguments', `dead-letters ${known} needs positions behind the group, or --all`)
  return { action: known, group, positions, all }
}
