/** The types of errors that options declare. */
import type { Empty } from './scope.ts'

/** The errors that options declare. */
export type DeclaredIn<Options> = Options extends { readonly errors: infer Declared } ? Declared : Empty

/** Merges declarations of errors. A later declaration replaces an earlier one of the same code. */
export type Over<Before, Declared> = [keyof Before] extends [never]
  ? Declared
  : [keyof Declared] extends [never]
    ? Before
    : Omit<Before, keyof Declared> & Declared
