/**
 * `npm run api`: writes everything that users can import from each package, and every type that these exports use,
 * into an `api.txt` beside its package.json. A change of the public API is then seen in the diff of a commit.
 * `--check` only compares. The script reads the published declarations (`lib`), so build first. It is in this folder
 * because TypeScript 7 has no compiler API yet, and TypeDoc brings TypeScript 6 into this folder.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ts from 'typescript'
import { type PublicPackage, publicPackages } from '../scripts/release/packages.ts'

interface Package extends PublicPackage {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

const root = resolve(import.meta.dirname, '../..')
const printer = ts.createPrinter({ removeComments: true })
const isCheck = process.argv.includes('--check')
const changed = publicPackages(root)
  // This package is a program that nobody imports.
  .filter(({ name }) => name !== 'create-elysia-microservices')
  .map(({ folder }) => folder)
  .filter((folder) => {
    const file = join(root, folder, 'api.txt')
    const text = apiOf(join(root, folder))
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return false
    if (!isCheck) writeFileSync(file, text)
    return true
  })
for (const folder of changed) console.log(`The public API of ${folder} has changed`)
if (isCheck && changed.length > 0) process.exit(1)

/** The exports of a package, for each of its entry points. */
function apiOf(folder: string): string {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' || isForOurTests(name, path)
      ? []
      : [{ path: name + path.slice(1), file: join(folder, target.types) }]
  )
  const program = programOf(entries.map(({ file }) => file))
  const written = new Map<ts.Symbol, string>()
  const reached: ts.Symbol[] = []
  const parts = entries.map(({ path, file }) => {
    const lines = exportsOf(program, file).map(({ as, symbol, text }) => {
      if (symbol === undefined) return text
      const before = written.get(symbol)
      if (before !== undefined) return `// ${as}: that of ${before}`
      written.set(symbol, path)
      reached.push(symbol)
      return symbol.name === as ? text : `// ${symbol.name} as ${as}\n${text}`
    })
    return `// ${path}\n\n${lines.join('\n')}\n`
  })
  const others = new Map<string, string>()
  // Iterating over a list also visits items that are added during the loop.
  for (const symbol of reached)
    for (const named of namedBy(program, symbol))
      if (!written.has(named)) {
        written.set(named, '')
        reached.push(named)
        others.set(`${named.name} ${others.size}`, textOf(named))
      }
  const named = [...others].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text)
  if (named.length > 0) parts.push(`// Named by these\n\n${named.join('\n')}\n`)
  return parts.join('\n')
}

/** A compiler program with only the package's own declarations: imports from other packages stay names. */
function programOf(files: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = { noLib: true, types: [], module: ts.ModuleKind.ESNext }
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, from) =>
    literals.map(({ text }) => {
      const file = resolve(from, '..', text).replace(/\.[jt]s$/, '.d.ts')
      const isOwn = text.startsWith('.') && existsSync(file)
      return isOwn
        ? { resolvedModule: { resolvedFileName: file, extension: ts.Extension.Dts } }
        : { resolvedModule: undefined }
    })
  return ts.createProgram(files, options, host)
}

interface Export {
  readonly as: string
  /** `undefined`: the name is exported from another package. */
  readonly symbol: ts.Symbol | undefined
  readonly text: string
}

/** Entries for the tests of this repository: users import `elysia-microservices/testing` only. */
function isForOurTests(name: string, path: string): boolean {
  return path === './testing' && name !== 'elysia-microservices'
}

/** The exports of a file, sorted by name. */
function exportsOf(program: ts.Program, file: string): Export[] {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${file} exports nothing`)
  const own = checker.getExportsOfModule(module).map((symbol): Export => {
    const target = targetOf(checker, symbol)
    if (target !== undefined) return { as: symbol.name, symbol: target, text: textOf(target) }
    return { as: symbol.name, symbol: undefined, text: `export { ${symbol.name} } from ${sourceOf(symbol)}` }
  })
  return [...own, ...wholesOf(program, source as ts.SourceFile)].toSorted((one, other) =>
    one.as < other.as ? -1 : 1
  )
}

/** The names of packages that a file re-exports as a whole, by `export * from`. */
function wholesOf(program: ts.Program, source: ts.SourceFile): Export[] {
  return source.statements.flatMap((statement): Export[] => {
    if (!ts.isExportDeclaration(statement) || statement.exportClause !== undefined) return []
    const from = statement.moduleSpecifier as ts.StringLiteral
    if (!from.text.startsWith('.'))
      return [{ as: '*', symbol: undefined, text: `export * from '${from.text}'` }]
    const file = resolve(source.fileName, '..', from.text).replace(/\.[jt]s$/, '.d.ts')
    const below = program.getSourceFile(file)
    return below === undefined ? [] : wholesOf(program, below)
  })
}

/** The symbol to which a name refers, if this package declares it. */
function targetOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol | undefined {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  return target.declarations?.some((each) => !ts.isSourceFile(each)) ? target : undefined
}

/** The package from which a name is exported. */
function sourceOf(symbol: ts.Symbol): string {
  for (let node: ts.Node | undefined = symbol.declarations?.[0]; node !== undefined; node = node.parent)
    if ((ts.isExportDeclaration(node) || ts.isImportDeclaration(node)) && node.moduleSpecifier)
      return `'${(node.moduleSpecifier as ts.StringLiteral).text}'`
  return 'elsewhere'
}

/** The declarations of a symbol. */
function textOf(symbol: ts.Symbol): string {
  return statementsOf(symbol)
    .map((node) => printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()))
    .join('\n')
}

function statementsOf(symbol: ts.Symbol): readonly ts.Node[] {
  const nodes = (symbol.declarations ?? []).map((node) =>
    ts.isVariableDeclaration(node) ? node.parent.parent : node
  )
  return [...new Set(nodes)]
}

/** The types of this package that the declarations of a symbol use. */
function namedBy(program: ts.Program, symbol: ts.Symbol): Set<ts.Symbol> {
  const checker = program.getTypeChecker()
  const found = new Set<ts.Symbol>()
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const named = checker.getSymbolAtLocation(node)
      const target = named && targetOf(checker, named)
      if (target !== undefined && isTop(target)) found.add(target)
    }
    ts.forEachChild(node, visit)
  }
  for (const statement of statementsOf(symbol)) visit(statement)
  found.delete(symbol)
  return found
}

/** Whether a symbol is declared at the top of a file, not as a parameter or a member. */
function isTop(symbol: ts.Symbol): boolean {
  return statementsOf(symbol).some((node) => ts.isSourceFile(node.parent) || ts.isModuleBlock(node.parent))
}
