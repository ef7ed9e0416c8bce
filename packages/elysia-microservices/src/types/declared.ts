/** The errors that options declare, and how they are merged. */
/** The errors that options declare. */
export type DeclaredIn<Options> = Options extends { readonly errors: infer Declared }
  ? Declared
  : Record<never, never>

/** Merges two types by their keys. A later member replaces an earlier one of the same key. */
export type Over<Before, Declared> = [keyof Before] extends [never]
  ? Declared
  : [keyof Declared] extends [never]
    ? Before
    : Omit<Before, keyof Declared> & Declared
