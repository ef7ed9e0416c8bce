import type { Carried } from './carrier.ts'

/**
 * Copies all fields of a message except its words. They are read one by one, because a class may have them as getters,
 * which `...` would leave out.
 */
export function plain({ address, reply, headers, ended }: Carried): Carried {
  return { address, reply, headers, words: '', ...(ended !== undefined && { ended }) }
}
