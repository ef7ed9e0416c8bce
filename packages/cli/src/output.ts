/** Prints results: for people, or as JSON for programs. */

/** Where it is printed. */
export interface Output {
  /** The result. */
  out(text: string): void
  /** Writes an error or a warning. */
  error(text: string): void
  /** Whether somebody looks: then `top` draws over what it has drawn. */
  readonly isTerminal: boolean
  readonly json: boolean
}

/**
 * Characters that a terminal obeys, and marks of direction, which let a text be read as another one (U+202E and its
 * like).
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** A value of a service as JSON: of several lines for people. What a terminal would obey is escaped by JSON. */
export function valueText(value: unknown, json: boolean): string {
  // Lines are JSON's own; all else that a terminal would obey stands in texts, where an escape means the same.
  return (JSON.stringify(value, null, json ? 0 : 2) ?? 'null').replace(OBEYED, (character) =>
    character === '\n' ? character : escaped(character)
  )
}

/** A text of a service, without what a terminal would obey. */
export function plainText(text: unknown): string {
  return String(text).replace(OBEYED, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Rows below a head, in columns. Numbers stand on the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const texts = [head, ...rows.map((row) => row.map((cell) => plainText(cell)))]
  const widths = head.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)))
  const isNumber = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number')
  )
  return texts
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] as number
          return isNumber[column] ? cell.padStart(width) : cell.padEnd(width)
        })
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}
