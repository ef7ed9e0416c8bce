/** Names of many parts, which may go on in the next line. */

/** Parts after which a line may break: more would only cost time. */
const MAX_BREAKS = 20

/** A pattern that a line may break behind a dot, a slash or a colon, rather than within a word. */
export function breakable(pattern: string) {
  const parts = pattern.split(/(?<=[./:])/, MAX_BREAKS)
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return [
    ...parts.flatMap((part, index) => (index > 0 ? [<wbr key={index} />, part] : [part])),
    pattern.slice(length)
  ]
}
