/** The imports of a source: the names under which it knows a module, and edits that take names from another one. */
import type { ts } from '@ts-morph/common'
import type { Compiler } from './compiler.ts'
import type { Edit } from './edits.ts'

export const NEST = '@nestjs/microservices'
export const CORE = '@nestjs/core'
export const OURS = '@elysia-microservices/nestjs'
/** Names that our package has from Nest's, so that an import of them beside others moves as a whole. */
const SHARED = new Set(['ClientProxy', 'Transport'])

/** A list of names in an import, or in the pattern of a `require`. */
interface Names {
  /** The import or the statement with `require`. */
  readonly statement: ts.Node
  /** The list between braces. */
  readonly list: ts.NamedImports | ts.ObjectBindingPattern
  readonly module: ts.StringLiteralLike
}

/** The names of one module in a source. */
export interface Imported {
  readonly names: readonly Names[]
  /** The names of the module itself: `import * as ms`, `const ms = require(…)`. */
  readonly wholes: ReadonlySet<string>
  /** The local names, by the module's names. */
  readonly locals: ReadonlyMap<string, string>
}

/** Reads the imports of a module. */
export function importsOf(ts: Compiler, file: ts.SourceFile, module: string): Imported {
  const names: Names[] = []
  const wholes = new Set<string>()
  const locals = new Map<string, string>()
  const take = (statement: ts.Node, binding: ts.Node | undefined, from: ts.StringLiteralLike) => {
    if (binding === undefined) return
    if (ts.isIdentifier(binding)) wholes.add(binding.text)
    else if (ts.isNamespaceImport(binding)) wholes.add(binding.name.text)
    else if (ts.isNamedImports(binding) || ts.isObjectBindingPattern(binding)) {
      names.push({ statement, list: binding, module: from })
      for (const element of binding.elements)
        locals.set((element.propertyName ?? element.name).getText(file), element.name.getText(file))
    }
  }
  for (const statement of file.statements) {
    if (ts.isImportDeclaration(statement) && ts.isStringLiteralLike(statement.moduleSpecifier)) {
      if (statement.moduleSpecifier.text !== module) continue
      take(statement, statement.importClause?.namedBindings, statement.moduleSpecifier)
      take(statement, statement.importClause?.name, statement.moduleSpecifier)
    } else if (ts.isVariableStatement(statement))
      for (const { name, initializer } of statement.declarationList.declarations) {
        const from = requiredBy(ts, initializer)
        if (from?.text === module) take(statement, name, from)
      }
  }
  return { names, wholes, locals }
}

function requiredBy(ts: Compiler, value: ts.Node | undefined): ts.StringLiteralLike | undefined {
  if (value === undefined || !ts.isCallExpression(value) || value.expression.getText() !== 'require')
    return undefined
  const [argument] = value.arguments
  return argument !== undefined && ts.isStringLiteralLike(argument) ? argument : undefined
}

/**
 * Edits that import names from our package.
 * @param moved names that are imported from Nest's packages now
 * @param added names that are new in this source
 */
export function importEdits(
  ts: Compiler,
  file: ts.SourceFile,
  moved: readonly string[],
  added: readonly string[]
): readonly Edit[] {
  const nest = importsOf(ts, file, NEST)
  const ours = importsOf(ts, file, OURS)
  const edits: Edit[] = []
  const wanted = added.filter((name) => !ours.locals.has(name))
  const nameOf = (one: ts.ImportSpecifier | ts.BindingElement) => (one.propertyName ?? one.name).getText(file)
  const isMoved = (one: ts.ImportSpecifier | ts.BindingElement) => moved.includes(nameOf(one))
  const sources = [...importsOf(ts, file, CORE).names, ...nest.names]
    .map((names) => ({ ...names, elements: [...names.list.elements] }))
    .filter(({ elements }) => elements.some(isMoved))
    .map((names) => ({
      ...names,
      isWhole: names.elements.every((one) => isMoved(one) || SHARED.has(nameOf(one)))
    }))
  const host = ours.names.length === 0 ? sources.find(({ isWhole }) => isWhole) : undefined
  for (const one of sources) {
    if (one === host) continue
    const { statement, elements, isWhole } = one
    wanted.push(...elements.filter((each) => isWhole || isMoved(each)).map((each) => each.getText(file)))
    if (isWhole)
      edits.push({ start: statement.getStart(file), end: afterLine(file.text, statement.getEnd()), text: '' })
    else edits.push(...removals(file, elements, isMoved))
  }
  if (host !== undefined) {
    const { module, elements } = host
    edits.push({ start: module.getStart(file) + 1, end: module.getEnd() - 1, text: OURS })
    if (wanted.length > 0) edits.push(afterLast(elements, wanted))
  } else if (wanted.length > 0) edits.push(addition(ts, file, wanted, ours, nest))
  return edits
}

/** Adds names at the end of a list. */
function afterLast(elements: readonly ts.Node[], names: readonly string[]): Edit {
  const end = (elements.at(-1) as ts.Node).getEnd()
  return { start: end, end, text: `, ${names.join(', ')}` }
}

/** Removes elements of a list, each with its comma. */
function removals(
  file: ts.SourceFile,
  elements: readonly ts.Node[],
  isRemoved: (element: never) => boolean
): readonly Edit[] {
  const lastKept = elements.findLastIndex((one) => !isRemoved(one as never))
  return elements.flatMap((one, index) => {
    if (!isRemoved(one as never)) return []
    if (index < lastKept)
      return [{ start: one.getStart(file), end: (elements[index + 1] as ts.Node).getStart(file), text: '' }]
    return [{ start: (elements[index - 1] as ts.Node).getEnd(), end: one.getEnd(), text: '' }]
  })
}

function addition(
  ts: Compiler,
  file: ts.SourceFile,
  names: readonly string[],
  ours: Imported,
  nest: Imported
): Edit {
  const [own] = ours.names
  if (own !== undefined && own.list.elements.length > 0) return afterLast(own.list.elements, names)
  const isImport = (one: ts.Node) => ts.isImportDeclaration(one)
  const isRequire = (one: ts.Statement) =>
    ts.isVariableStatement(one) &&
    one.declarationList.declarations.some(({ initializer }) => requiredBy(ts, initializer) !== undefined)
  const imports = file.statements.filter((one) => isImport(one) || isRequire(one))
  const near = nest.names[0]?.statement ?? imports.at(-1)
  const text = near?.getText(file) ?? ''
  const quote = text.includes('"') ? '"' : "'"
  const end = near === undefined || text.endsWith(';') ? ';' : ''
  const breaks = file.text.includes('\r\n') ? '\r\n' : '\n'
  const isCommonJs = near !== undefined && !isImport(near)
  const list = names.join(', ')
  const line = isCommonJs
    ? `const { ${list.replaceAll(' as ', ': ')} } = require(${quote}${OURS}${quote})${end}`
    : `import { ${list} } from ${quote}${OURS}${quote}${end}`
  if (near === undefined) return { start: 0, end: 0, text: line + breaks }
  return { start: near.getEnd(), end: near.getEnd(), text: breaks + line }
}

/** The position after the line break that follows. */
function afterLine(text: string, position: number): number {
  return position + (/^[\t ]*\r?\n/.exec(text.slice(position))?.[0].length ?? 0)
}
