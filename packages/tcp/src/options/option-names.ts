/** Refuses unknown options of TCP, and suggests the option that may have been meant. */
import { nearest, OptionError } from '@elysia-microservices/transport/kit'
import { TEST_DEFAULTS } from './shared-options.ts'

const OF_TESTS = Object.keys(TEST_DEFAULTS)

/** The names of the options of one end: a server or a client. */
export interface OptionNames {
  /** The name of the end in error messages. */
  readonly end: string
  readonly own: readonly string[]
  /** Names of the fields inside an option: `idle` in `limits`. */
  readonly inside: Readonly<Record<string, readonly string[]>>
}

/**
 * @param ends the ends to which the options may belong
 * @param beside names of options of other parts, which were already removed from `given`; they are only used in hints
 * @throws {OptionError} an option belongs to none of the ends
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

/** Finds the group of an option that was given outside of its group: `limits.idle`. */
function placeInside(name: string, ends: readonly OptionNames[]): string | undefined {
  const groups = ends.flatMap(({ inside }) => Object.entries(inside))
  const found = groups.find(([, names]) => names.includes(name))
  return found && `${found[0]}.${name}`
}
