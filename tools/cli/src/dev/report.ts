/** Reads the report that a runtime prints about an error that ends a program, or about a file that it cannot compile. */
import { relative } from 'node:path'

/** The report, in a few words. */
export interface Report {
  /** The error, in one line. */
  readonly text: string
  /** The file and line in the project where it was thrown, or what cannot be compiled. */
  readonly place?: string
  /** Whether the program's code is the reason, so that a further start fails in the same way until it is edited. */
  readonly isCode: boolean
  /** Further lines that a reader needs: the rest of the message, and the calls in files of the project. */
  readonly more: readonly string[]
}

/** Matches a call of a stack trace, with the place in a file. */
const FRAME = /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^()]+?:\d+(?::\d+)?)\)?(?: \{)?$/
/** Matches each line of a stack trace, also of calls within the runtime. */
const ANY_FRAME = /^\s+(?:at |\.\.\. \d+ lines matching)/
/** Matches the line above the code that Node shows. */
const ABOVE = /^(?:file:\/\/)?(\/.+:\d+)$/
const WITHIN_NODE = /^(?:node:internal\/\S+|<anonymous_script>|undefined):\d+$/
/** Matches a line of code that Bun shows. */
const CODE = /\b\d+ \| .*$|^\d+ \| .*$/
const CARET = /^\s*[\^~]+\s*$/
/** Matches an error, as runtimes print the first line of it, or a service or an app that cannot listen. */
const THROWN =
  /^(?:error: |.+ cannot listen; the process ends )?(?:Uncaught (?:\(in promise\) )?)?((?:_?(?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?|error): .+)$/
/** Matches an error of esbuild, which compiles TypeScript for Node. */
const COMPILED = /^(\/?[^\s:]+:\d+:\d+): ERROR: (.+)$/
const MAX_TEXT = 300
const MAX_MORE = 10
const MAX_CALLS = 3

/** Whether a line may belong to a report, so that the end of the program is worth waiting for. */
export function isOfReport(line: string): boolean {
  return (
    ANY_FRAME.test(line) || ABOVE.test(line) || WITHIN_NODE.test(line) || CODE.test(line) || THROWN.test(line)
  )
}

/** Whether a line only says where an error was thrown, or has the fields of one. */
export function isDetail(line: string): boolean {
  return (
    line.trim() === '' || /^\s|^[}\]]/.test(line) || CODE.test(line) || CARET.test(line) || ABOVE.test(line)
  )
}

/** A line without the code that Bun shows behind it. */
export function withoutCode(line: string): string {
  return line.replace(CODE, '').trimEnd()
}

/**
 * Reads a report. @param lines what the program has printed last @param root the folder of the project
 * @returns `undefined` if there is no error in the lines
 */
export function readReport(lines: readonly string[], root: string): Report | undefined {
  const shown = (place: string) => (place.startsWith('/') ? relative(root, place) : place)
  for (const line of lines) {
    const [, place, text] = COMPILED.exec(line) ?? []
    if (place !== undefined && text !== undefined)
      return { text: text.slice(0, MAX_TEXT), place: shown(place), isCode: true, more: [] }
  }
  const at = lines.findIndex((line) => THROWN.test(line))
  const [, thrown] = THROWN.exec(lines[at] ?? '') ?? []
  if (thrown === undefined) return undefined
  const behind = lines.slice(at + 1)
  const end = behind.findIndex((line) => ANY_FRAME.test(line) || line.trim() === '')
  const message = behind.slice(0, end === -1 ? 0 : end)
  const rest = message.filter((line, index) => !CARET.test(line) && !CARET.test(message[index + 1] ?? ''))
  const calls = behind.filter((line) => isOwn(FRAME.exec(line)?.[1], root))
  const compiled = compiledPlace(lines.slice(0, at), behind, thrown, calls.length > 0)
  if (compiled !== undefined)
    return { text: thrown.slice(0, MAX_TEXT), place: shown(compiled), isCode: true, more: [] }
  const [first] = calls
  const place = FRAME.exec(first ?? '')?.[1]
  return {
    text: thrown.slice(0, MAX_TEXT),
    ...(place !== undefined && { place: shown(place.replace(/(:\d+):\d+$/, '$1')) }),
    // Bun does not say where the import is.
    isCode: /^SyntaxError: Export named /.test(thrown),
    more: [...rest.slice(0, MAX_MORE), ...calls.slice(1, MAX_CALLS)]
  }
}

/** The place of an error that was found before the program ran. */
function compiledPlace(
  above: readonly string[],
  behind: readonly string[],
  thrown: string,
  hasCalls: boolean
): string | undefined {
  // Bun and Deno indent the place of code that they cannot compile by four blanks; Bun indents calls by six.
  const isOfBun = thrown.startsWith('error: ')
  const isSyntax = thrown.startsWith('SyntaxError')
  const first = behind.find((line) => ANY_FRAME.test(line)) ?? ''
  const direct = /^ {4}at (?:file:\/\/)?(\/[^()]+:\d+:\d+)$/.exec(first)?.[1]
  if (direct !== undefined && (isOfBun || isSyntax)) return direct
  if (!isSyntax || hasCalls) return undefined
  const place = above.flatMap((line) => ABOVE.exec(line)?.[1] ?? [])[0]
  const caret = above.findLast((line) => CARET.test(line))
  return place === undefined || caret === undefined ? place : `${place}:${caret.search(/\S/) + 1}`
}

function isOwn(place: string | undefined, root: string): boolean {
  if (place === undefined || place.includes('/node_modules/')) return false
  return !relative(root, place).startsWith('..')
}
