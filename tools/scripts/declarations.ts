/**
 * The declarations that a package publishes: those that its entry points need, statement by statement, as `tsc` has
 * written them. The rest (functions of the inside, comments at the head of a file, links to maps that are not
 * published) would be a third of them.
 *
 * `tsc` begins each statement of a module at the first column and indents all lines within, so no parser is needed.
 * A statement is needed if a needed one has its name anywhere outside of comments: now and then that is one too many,
 * and never one too few.
 */
import { posix } from 'node:path'

const BEGINS = /^(?:export|declare|import|type|interface|class|abstract|enum)\b/
const DECLARED =
  /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:type|interface|class|const|let|function|enum)\s+([\w$]+)/
const IMPORT = /^import (?:type )?\{(.*)\} from '([^']+)';$/
const WHOLE_IMPORT = /^import (?:type )?(?:\* as )?([\w$]+) from '[^.'][^']*';$/
const REEXPORT = /^export (?:type )?\{(.*)\} from '([^']+)';$/
const ALL = /^export \* from '([^']+)';$/
const LOCAL_EXPORT = /^export (?:type )?\{(.*)\};$/
const INLINE_IMPORT = /import\("(\.[^"]+)"\)\.([\w$]+)/g
const COMMENT = /\/\*[\s\S]*?\*\//g
const LINK_TO_MAP = /^\/\/# sourceMappingURL=.*\n?/gm
const WORD = /[\w$]+/g

/** One name of an import or export: `type name as as`. */
interface Specifier {
  readonly name: string
  readonly as: string
  readonly text: string
}

interface Statement {
  readonly comment: string
  readonly text: string
  /** The name of a declaration, or of `import name from` another package. */
  readonly declares: string | undefined
  /** The names of `import { … }` and `export { … }`. */
  readonly specifiers: readonly Specifier[] | undefined
  readonly isImport: boolean
  /** The module of an import or of a re-export. */
  readonly from: string | undefined
}

interface Module {
  readonly statements: readonly Statement[]
  readonly isEntry: boolean
  readonly needed: Set<Statement>
  /** Specifiers of imports and of re-exports that are needed. */
  readonly used: Set<Specifier>
}

/**
 * The needed declarations by file.
 * @param entries the files of the entry points, relative to one folder
 * @param read reads a file of that folder
 */
export function declarationsOf(
  entries: readonly string[],
  read: (file: string) => string
): Map<string, string> {
  const modules = new Map<string, Module>()
  const open = (file: string): Module => {
    let module = modules.get(file)
    if (module === undefined) {
      module = {
        statements: statementsOf(read(file)),
        isEntry: entries.includes(file),
        needed: new Set(),
        used: new Set()
      }
      modules.set(file, module)
    }
    return module
  }
  for (const file of entries) needAll(open, file)
  const written = [...modules].filter(([, { isEntry, needed }]) => isEntry || needed.size > 0)
  return new Map(written.map(([file, module]) => [file, textOf(module)]))
}

type Open = (file: string) => Module

/** Everything that a module exports is needed. */
function needAll(open: Open, file: string): void {
  const module = open(file)
  for (const statement of module.statements) {
    if (statement.isImport || !statement.text.startsWith('export')) continue
    for (const specifier of statement.specifiers ?? []) needSpecifier(open, file, statement, specifier)
    if (statement.specifiers === undefined) need(open, file, statement)
  }
}

/** Whether the module has the name; if so, its statements are needed. */
function needName(open: Open, file: string, name: string): boolean {
  const module = open(file)
  const own = module.statements.filter(({ declares }) => declares === name)
  for (const statement of own) need(open, file, statement)
  if (own.length > 0) return true
  for (const statement of module.statements) {
    const specifier = statement.specifiers?.find(({ as }) => as === name)
    if (specifier !== undefined) {
      needSpecifier(open, file, statement, specifier)
      return true
    }
  }
  return module.statements.some((statement) => {
    const from = ALL.test(statement.text) ? fileOf(file, statement.from) : undefined
    if (from === undefined || !needName(open, from, name)) return false
    module.needed.add(statement)
    return true
  })
}

function needSpecifier(open: Open, file: string, statement: Statement, specifier: Specifier): void {
  const module = open(file)
  if (module.used.has(specifier)) return
  module.used.add(specifier)
  module.needed.add(statement)
  const from = fileOf(file, statement.from)
  if (from !== undefined) needFound(open, from, specifier.name)
  else if (statement.from === undefined) needFound(open, file, specifier.name)
}

function needFound(open: Open, file: string, name: string): void {
  if (!needName(open, file, name)) throw new Error(`${file} does not export ${name}`)
}

/** A statement, and all that it names. */
function need(open: Open, file: string, statement: Statement): void {
  const module = open(file)
  if (module.needed.has(statement)) return
  module.needed.add(statement)
  const all = ALL.test(statement.text) ? fileOf(file, statement.from) : undefined
  if (all !== undefined) needAll(open, all)
  const code = statement.text.replaceAll(COMMENT, '')
  for (const [, from, name] of code.matchAll(INLINE_IMPORT))
    needFound(open, fileOf(file, from) as string, name as string)
  const words = new Set(code.match(WORD))
  for (const other of module.statements) {
    if (other.declares !== undefined && words.has(other.declares)) need(open, file, other)
    if (other.isImport)
      for (const specifier of other.specifiers ?? [])
        if (words.has(specifier.as)) needSpecifier(open, file, other, specifier)
  }
}

/** The file of a module of the same package. */
function fileOf(importer: string, path: string | undefined): string | undefined {
  if (path?.startsWith('.') !== true) return undefined
  return posix.join(posix.dirname(importer), path).replace(/\.[jt]s$/, '.d.ts')
}

/** The published part of a module. */
function textOf({ statements, isEntry, needed, used }: Module): string {
  return statements
    .flatMap((statement) => {
      const { comment, text, specifiers, declares } = statement
      // Without names it says something of the whole module: `import 'x'`, `export {}`, `declare global`.
      const isOfModule = declares === undefined && (specifiers?.length ?? 0) === 0 && !ALL.test(text)
      if (!isOfModule && !needed.has(statement)) return []
      // The comment before an import is that of the file.
      const isOfFile = declares === undefined || text.startsWith('import')
      const kept = isEntry || !isOfFile ? comment : ''
      if (specifiers === undefined || specifiers.length === 0) return [kept + text]
      const names = specifiers.filter((specifier) => used.has(specifier)).map((specifier) => specifier.text)
      return [kept + text.replace(/\{.*\}/, () => `{ ${names.join(', ')} }`)]
    })
    .map((text) => `${text}\n`)
    .join('')
}

function statementsOf(source: string): Statement[] {
  const statements: Statement[] = []
  let comment = ''
  let lines: string[] = []
  // The comment before the next line, which begins a statement or goes on with one: members of a union have comments.
  let next: string[] = []
  let isComment = false
  const end = (): void => {
    if (lines.length > 0) statements.push(statementOf(comment, lines.join('\n')))
  }
  for (const line of source.replaceAll(LINK_TO_MAP, '').trimEnd().split('\n')) {
    if (isComment || line.startsWith('/**')) {
      // Of two comments in a row, the first is that of the file.
      next = isComment ? [...next, line] : [line]
      isComment = !line.endsWith('*/')
      continue
    }
    if (BEGINS.test(line)) {
      end()
      comment = next.map((each) => `${each}\n`).join('')
      lines = [line]
    } else lines.push(...next, line)
    next = []
  }
  end()
  return statements
}

function statementOf(comment: string, text: string): Statement {
  const imported = IMPORT.exec(text)
  const names = imported ?? REEXPORT.exec(text) ?? LOCAL_EXPORT.exec(text)
  const declares = (DECLARED.exec(text) ?? WHOLE_IMPORT.exec(text))?.[1]
  if (names === null && declares === undefined && /^(?:import|export)\b/.test(text) && !isKnown(text))
    throw new Error(`A statement of an unknown kind: ${text}`)
  return {
    comment,
    text,
    declares: names === null ? declares : undefined,
    specifiers: names?.[1]
      ?.split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(specifierOf),
    isImport: imported !== null,
    from: names?.[2] ?? ALL.exec(text)?.[1]
  }
}

/** `export * from 'x'`, and `import 'x'`. */
function isKnown(text: string): boolean {
  return ALL.test(text) || /^import '[^']+';$/.test(text)
}

function specifierOf(text: string): Specifier {
  const [name = '', as = name] = text.replace(/^type /, '').split(' as ')
  return { name, as, text }
}
