/** Prints results: as text for people, or as JSON for programs. */

/** The output of a command. */
export interface Output {
  /** Writes a result. */
  out(text: string): void
  /** Writes an error or a warning. */
  error(text: string): void
  /** Whether the output is a terminal. If so, `top` draws over its previous output. */
  readonly isTerminal: boolean
  readonly json: boolean
}

/**
 * Control characters, which a terminal would obey, and direction marks (U+202E and others), which can make a text
 * look like another one.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** A value from a service as JSON; on several lines for people. Characters that a terminal would obey are escaped. */
export function valueText(value: unknown, json: boolean): string {
  // JSON itself uses line breaks. All other such characters are inside of texts, where an escape has the same
  // meaning.
  return (JSON.stringify(value, null, json ? 0 : 2) ?? 'null').replace(OBEYED, (character) =>
    character === '\n' ? character : escaped(character)
  )
}

/** A text from a service, with characters escaped that a terminal would obey. */
export function plainText(text: unknown): string {
  return String(text).replace(OBEYED, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A table: a header and rows, in columns. Numbers are aligned to the right. */
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
