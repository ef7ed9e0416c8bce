/** Adds line breaks to long names that have several parts. */

/** Largest number of places in a name at which a line may break, to save time for very long names. */
const MAX_BREAKS = 20

/** A pattern whose line may break after a dot, a slash or a colon, and not within a word. */
export function breakable(pattern: string) {
  const parts = pattern.split(/(?<=[./:])/, MAX_BREAKS)
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return [
    ...parts.flatMap((part, index) => (index > 0 ? [<wbr key={index} />, part] : [part])),
    pattern.slice(length)
  ]
}
