/** Edits of a text: they are applied, and shown as a unified diff. */

/** Replaces the characters from `start` to `end`. Edits of one text do not overlap. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Number of unchanged lines that a diff shows before and after changed lines. */
const CONTEXT = 3

/** Applies edits. Edits at one place are applied in the order in which they are given. */
export function edited(source: string, edits: readonly Edit[]): string {
  let text = ''
  let at = 0
  for (const edit of inOrder(edits)) {
    text += source.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return text + source.slice(at)
}

/** Lines that change: the first line, the line after the last, and the new text. */
interface Change {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** The unified diff of a file. Line breaks are LF in it, whatever the file has. */
export function unifiedDiff(name: string, source: string, edits: readonly Edit[]): string {
  const lines = linesOf(source)
  const hunks: Change[][] = []
  for (const change of changesOf(source, edits)) {
    const hunk = hunks.at(-1)
    if (hunk !== undefined && change.from - (hunk.at(-1) as Change).to <= 2 * CONTEXT) hunk.push(change)
    else hunks.push([change])
  }
  let grown = 0
  const texts = hunks.map((hunk) => {
    const start = Math.max(0, (hunk[0] as Change).from - CONTEXT)
    const end = Math.min(lines.length, (hunk.at(-1) as Change).to + CONTEXT)
    const body: string[] = []
    let at = start
    let growth = 0
    for (const change of hunk) {
      body.push(...lines.slice(at, change.from).map((line) => ` ${line}`))
      body.push(...lines.slice(change.from, change.to).map((line) => `-${line}`))
      body.push(...change.lines.map((line) => `+${line}`))
      growth += change.lines.length - (change.to - change.from)
      at = change.to
    }
    body.push(...lines.slice(at, end).map((line) => ` ${line}`))
    const size = end - start
    const head = `@@ -${start + 1},${size} +${start + 1 + grown},${size + growth} @@`
    grown += growth
    return [head, ...body].join('\n')
  })
  return [`--- a/${name}`, `+++ b/${name}`, ...texts].join('\n')
}

/** The changed lines, in order. Edits that share a line are one change. */
function changesOf(source: string, edits: readonly Edit[]): readonly Change[] {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  const lineAt = (position: number) => starts.findLastIndex((start) => start <= position)
  const groups: Edit[][] = []
  let last = -1
  for (const edit of inOrder(edits)) {
    if (lineAt(edit.start) <= last) groups.at(-1)?.push(edit)
    else groups.push([edit])
    last = Math.max(last, lineAt(edit.end))
  }
  return groups.map((group) => {
    const from = lineAt((group[0] as Edit).start)
    const to = Math.max(...group.map(({ end }) => lineAt(end))) + 1
    const start = starts[from] as number
    const end = starts[to] ?? source.length
    const moved = group.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }))
    const old = linesOf(source.slice(start, end))
    const lines = linesOf(edited(source.slice(start, end), moved))
    // An edit at the beginning or at the end of a line leaves the line as it is.
    const shorter = Math.min(old.length, lines.length)
    let before = 0
    while (before < shorter && old[before] === lines[before]) before++
    let after = 0
    while (after < shorter - before && old.at(-1 - after) === lines.at(-1 - after)) after++
    return { from: from + before, to: to - after, lines: lines.slice(before, lines.length - after) }
  })
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return [...edits].sort((one, other) => one.start - other.start)
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
