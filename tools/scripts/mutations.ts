/**
 * Finds the places at which a source can be changed, and the changes. The source is read as text, which relies on the
 * formatting of this repository.
 */

/** One change of one line. */
export interface Mutation {
  /** The number of the line, from 1. */
  readonly line: number
  readonly before: string
  /** The changed line; empty: the statement is removed. */
  readonly after: string
  /** The whole source with the change. */
  readonly changed: string
}

/** Replacements of operators and literals. Comparisons have blanks around them; type arguments have none. */
const REPLACEMENTS: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/ === /g, () => ' !== '],
  [/ !== /g, () => ' === '],
  [/ < /g, () => ' <= '],
  [/ <= /g, () => ' < '],
  [/ > /g, () => ' >= '],
  [/ >= /g, () => ' > '],
  [/ && /g, () => ' || '],
  [/ \|\| /g, () => ' && '],
  [/ \+ /g, () => ' - '],
  [/ - /g, () => ' + '],
  [/ \* /g, () => ' / '],
  [/ \/ /g, () => ' * '],
  [/ \+= /g, () => ' -= '],
  [/ -= /g, () => ' += '],
  [/\+\+/g, () => '--'],
  [/--/g, () => '++'],
  [/\btrue\b/g, () => 'false'],
  [/\bfalse\b/g, () => 'true'],
  [/(?<![\w.#$])\d[\d_]*(?![\w.])/g, (found) => String(Number(found.replaceAll('_', '')) + 1)]
]

/** A constant with a name. Its number was chosen by measuring and may be a little different, so it is not changed. */
const NAMED_NUMBER = /^(?:export )?const [A-Z][A-Z_\d]*(?:: \w+)? = /
/** A statement that is complete on one line and can be removed. */
const STATEMENT =
  /^\s+(?:(?:this|[a-z]\w*)[.#\w?!]*(?:\(.*\)|(?: [-+]?= | \?\?= ).*|\+\+|--)|void .*|if \(.*\) return\b.*)$/
/** Lines that do nothing at run time, and lines that are not a complete statement. */
const SKIPPED =
  /^\s*(?:import |export (?:type |interface |\{|\*)|(?:export )?type |readonly (?:\w+\??:|#\w+: [^=]*$)|\/\/|\*|\/\*)/

/** All changes of a source. */
export function mutationsOf(text: string): Mutation[] {
  const lines = text.split('\n')
  const isCode = codeOf(lines)
  const found: Mutation[] = []
  const add = (index: number, after: string) => {
    const before = lines[index] as string
    const changed = [...lines.slice(0, index), after, ...lines.slice(index + 1)].join('\n')
    found.push({ line: index + 1, before, after, changed })
  }
  for (const [index, line] of lines.entries()) {
    if (!isCode[index] || SKIPPED.test(line) || NAMED_NUMBER.test(line)) continue
    const blank = withoutTexts(line)
    for (const [pattern, replace] of REPLACEMENTS) {
      for (const { 0: match, index: at } of blank.matchAll(pattern))
        add(index, line.slice(0, at) + replace(match) + line.slice(at + match.length))
    }
    if (STATEMENT.test(line) && isBalanced(blank) && !isContinued(lines[index + 1])) add(index, '')
  }
  return found
}

/** For each line: whether it is code, neither a comment nor a type. */
function codeOf(lines: readonly string[]): boolean[] {
  let isComment = false
  let isType = false
  return lines.map((line) => {
    if (/^\s*\/\*/.test(line)) isComment = true
    if (/^(?:export )?(?:interface|type) .*[{=]$/.test(line)) isType = true
    const isCode = !isComment && !isType
    if (line.includes('*/')) isComment = false
    if (isType && (line === '}' || line === '')) isType = false
    return isCode
  })
}

/** A union type, as a parameter may have: `role: 0 | 1`. A colon between values has a blank before it. */
const UNION = /(?<=[\w)?]: )[\w.<>[\]]+(?: \| [\w.<>[\]]+)+/g

/** The line with blanks in place of quoted texts, comments behind `//`, and union types. */
function withoutTexts(line: string): string {
  return line
    .replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, (text) => '_'.repeat(text.length))
    .replace(/\/\/.*$/, (comment) => '_'.repeat(comment.length))
    .replace(UNION, (type) => '_'.repeat(type.length))
}

function isBalanced(line: string): boolean {
  let depth = 0
  for (const character of line) {
    if ('([{'.includes(character)) depth++
    else if (')]}'.includes(character) && --depth < 0) return false
  }
  return depth === 0 && !/(?:[-+*/=&|?:,.]|=>)$/.test(line)
}

/** Whether the statement continues on the next line. */
function isContinued(next: string | undefined): boolean {
  return next !== undefined && /^\s*(?:[.?:&|+*]|else\b)/.test(next)
}
