/** Numbers and lists in words. */

/**
 * A number with its noun: `1 event`, `2,000 events`.
 * @param many the noun for all numbers but 1, if it is not the first one with an s
 */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${Math.round(count).toLocaleString('en')} ${count === 1 ? one : many}`
}

/** A list in words: `a`, `a and b`, `a, b and 3 others`. */
export function listed(names: readonly string[]): string {
  const [first = '', second] = names
  if (second === undefined) return first
  if (names.length === 2) return `${first} and ${second}`
  return `${first}, ${second} and ${plural(names.length - 2, 'other')}`
}
