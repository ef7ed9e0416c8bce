/** Refuses names that are no options of TCP, with a hint at the name that may have been meant. */
import { nearest, OptionError } from '@elysia-microservices/transport/kit'
import { TEST_DEFAULTS } from './shared-options.ts'

const OF_TESTS = Object.keys(TEST_DEFAULTS)

/** The names of the options of one end, a server or a client. */
export interface OptionNames {
  /** The end, as messages call it. */
  readonly end: string
  readonly own: readonly string[]
  /** Names of the fields inside an option: `idle` in `limits`. */
  readonly inside: Readonly<Record<string, readonly string[]>>
}

/**
 * @param ends the ends whose options these may be
 * @param beside names of further options, which others have taken out of what is given: only hints know them
 * @throws {OptionError} no end has an option of a name
 */
export function checkOptionNames(
  given: object,
  ends: readonly OptionNames[],
  beside: readonly string[] = []
): void {
  const own = [...new Set(ends.flatMap((end) => end.own))]
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || own.includes(name) || OF_TESTS.includes(name)) continue
    const near = placeInside(name, ends) ?? nearest(name, [...own, ...beside])
    const hint = near === undefined ? `there are ${own.join(', ')}` : `did you mean options.${near}?`
    const end = ends.length === 1 ? ends[0]?.end : 'TCP'
    const whose = near !== undefined && beside.includes(near) ? '' : ` of ${end}`
    throw new OptionError(`options.${name}`, `options.${name} is not an option${whose}; ${hint}`)
  }
}

/** Where a name stands that was given outside of its group: `limits.idle`. */
function placeInside(name: string, ends: readonly OptionNames[]): string | undefined {
  const groups = ends.flatMap(({ inside }) => Object.entries(inside))
  const found = groups.find(([, names]) => names.includes(name))
  return found && `${found[0]}.${name}`
}
