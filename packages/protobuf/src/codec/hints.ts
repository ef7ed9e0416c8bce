/** Rules that the schemas of a service add to the `.proto` that was made of them. */

/** Rules for single types and fields, by their full names. */
export interface Hints {
  /** Enums whose values stand for texts: by number, without 0, which stands for nothing. */
  readonly literals: ReadonlyMap<string, ReadonlyMap<number, string>>
  /** Messages that stand for the value of their only field. */
  readonly wrappers: ReadonlySet<string>
  /** Fields that are `null`, and not left out, when they are missing: `shop.Order.note`. */
  readonly nullable: ReadonlySet<string>
}

/** For files that others wrote. */
export const NO_HINTS: Hints = { literals: new Map(), wrappers: new Set(), nullable: new Set() }
