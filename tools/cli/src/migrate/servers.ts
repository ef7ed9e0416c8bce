/**
 * Moves the servers of a source: by the import of `NestFactory`, where that makes them; elsewhere, `createMicroservice`
 * and `connectMicroservice` get a `MicroserviceServer`.
 */
import type { ts } from '@ts-morph/common'
import type { Compiler } from './compiler.ts'
import type { Edit } from './edits.ts'
import { CORE, importsOf, NEST, OURS } from './imports.ts'
import { type Blocker, blockerIn } from './nest-options.ts'

/** The move of one server or client. */
export interface ServerMove {
  readonly edits: readonly Edit[]
  /** Names of our package that the edits use. */
  readonly imports: readonly string[]
  readonly remarks: readonly Blocker[]
  /** Whether the server moves by importing `NestFactory` from our package. */
  readonly byImport?: boolean
}

/** The argument that has the options, by the name of the method. */
const OPTIONS_AT: ReadonlyMap<string, number> = new Map([
  ['createMicroservice', 1],
  ['connectMicroservice', 0],
  ['createNestMicroservice', 0]
])
const OPEN = '{ strategy: new MicroserviceServer('
const CLOSE = ') }'
/** Types of options which have room for a strategy. */
const WITH_STRATEGY = /\b(?:MicroserviceOptions|AsyncMicroserviceOptions|CustomStrategy)\b/

/** The moves of all servers that a source makes. Servers with a strategy are left out. */
export function serverMoves(ts: Compiler, file: ts.SourceFile): readonly ServerMove[] {
  const moves: ServerMove[] = []
  const isOurs = factoryOf(ts, file, OURS)
  const isNests = factoryOf(ts, file, CORE)
  const canMoveImport = blockerIn(ts, file, file) === undefined
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit)
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return
    const index = OPTIONS_AT.get(node.expression.name.text)
    if (index === undefined || node.arguments.length < index) return
    const options = node.arguments[index]
    if (isOurs(node.expression)) return
    const move = options === undefined ? withoutOptions(ts, file, node) : new Options(ts, file).move(options)
    const isOpen = move.edits.length + move.remarks.length > 0
    if (isOpen && canMoveImport && isNests(node.expression))
      moves.push({ edits: [], imports: [], remarks: [], byImport: true })
    else if (move.edits.length > 0) moves.push({ ...move, edits: [...move.edits, ...typeEdits(file, node)] })
    else if (move.remarks.length > 0) moves.push(move)
  }
  visit(file)
  return moves
}

/** Tells whether a method is one of the module's `NestFactory`, or of an application that this makes in the source. */
function factoryOf(
  ts: Compiler,
  file: ts.SourceFile,
  module: string
): (method: ts.PropertyAccessExpression) => boolean {
  const local = importsOf(ts, file, module).locals.get('NestFactory')
  const isHybrid =
    new RegExp(`\\b${local}\\.create[(<]`).test(file.text) && !file.text.includes('createNestApplication')
  return ({ expression, name }) =>
    local !== undefined &&
    (expression.getText(file) === local || (isHybrid && name.text === 'connectMicroservice'))
}

/** Removes the type of options of one transport: `connectMicroservice<RmqOptions>(…)`. */
function typeEdits(file: ts.SourceFile, { typeArguments, expression }: ts.CallExpression): readonly Edit[] {
  const [type] = typeArguments ?? []
  if (type === undefined || WITH_STRATEGY.test(type.getText(file))) return []
  const end = file.text.indexOf('>', typeArguments?.end ?? type.getEnd()) + 1
  return [{ start: expression.getEnd(), end, text: '' }]
}

/** Without options, Nest's server is one on TCP. */
function withoutOptions(ts: Compiler, file: ts.SourceFile, call: ts.CallExpression): ServerMove {
  const name = nameOfTransport(ts, file)
  const at = call.getEnd() - 1
  if (name === undefined) return { edits: [], imports: [], remarks: [nameTheTransport(call.getStart(file))] }
  const text = `${call.arguments.length > 0 ? ', ' : ''}${OPEN}{ transport: ${name}.TCP }${CLOSE}`
  return { edits: [{ start: at, end: at, text }], imports: ['MicroserviceServer'], remarks: [] }
}

/** The name under which the source knows Nest's `Transport`. */
function nameOfTransport(ts: Compiler, file: ts.SourceFile): string | undefined {
  const { locals, wholes } = importsOf(ts, file, NEST)
  const [whole] = wholes
  return locals.get('Transport') ?? (whole === undefined ? undefined : `${whole}.Transport`)
}

function nameTheTransport(at: number): Blocker {
  return { at, text: 'name the transport, transport: Transport.TCP, and run this command again' }
}

/** Moves options of servers, wherever the source has them. */
class Options {
  readonly #ts: Compiler
  readonly #file: ts.SourceFile

  constructor(ts: Compiler, file: ts.SourceFile) {
    this.#ts = ts
    this.#file = file
  }

  move(given: ts.Expression): ServerMove {
    const ts = this.#ts
    const options = bare(ts, given)
    if (ts.isObjectLiteralExpression(options)) return this.#literal(options)
    if (ts.isConditionalExpression(options))
      return joined([this.move(options.whenTrue), this.move(options.whenFalse)])
    if (ts.isIdentifier(options)) {
      const declared = this.#declared(options)
      if (declared !== undefined) return this.#named(given, options.text, declared)
    }
    if (options.getText(this.#file).includes('MicroserviceServer')) return joined([])
    return this.#wrapped(given, [
      {
        at: given.getStart(this.#file),
        text: `${options.getText(this.#file)} is made elsewhere: see that it has only transport and options`
      }
    ])
  }

  #literal(options: ts.ObjectLiteralExpression): ServerMove {
    const ts = this.#ts
    if (this.#property(options, 'strategy') !== undefined) return joined([])
    const factory = this.#property(options, 'useFactory')
    if (factory !== undefined) return this.#factory(factory)
    const blocker = blockerIn(ts, this.#file, options)
    if (blocker !== undefined) return { edits: [], imports: [], remarks: [blocker] }
    const isForm = (one: ts.Node) =>
      ts.isSpreadAssignment(one) || ['transport', 'options'].includes(nameOf(one, this.#file))
    const others = options.properties.filter((one) => !isForm(one))
    const spread = options.properties.find((one) => ts.isSpreadAssignment(one))
    const needsTransport = this.#property(options, 'transport') === undefined && spread === undefined
    const transport = needsTransport ? nameOfTransport(ts, this.#file) : ''
    if (transport === undefined)
      return { edits: [], imports: [], remarks: [nameTheTransport(options.getStart(this.#file))] }
    const first = needsTransport ? `transport: ${transport}.TCP, ` : ''
    if (others.length === 0) {
      const start = options.getStart(this.#file) + 1
      const move = this.#wrapped(options, [])
      return first === ''
        ? move
        : { ...move, edits: [...move.edits, { start, end: start, text: ` ${first.trimEnd()}` }] }
    }
    if (spread !== undefined)
      return {
        edits: [],
        imports: [],
        remarks: [
          {
            at: spread.getStart(this.#file),
            text: 'options of the transport and of the application come from one object: give the first to new MicroserviceServer({ … }) as strategy'
          }
        ]
      }
    return this.#apart(options, options.properties.filter(isForm), first)
  }

  /** Puts `transport` and `options` into a strategy, beside the other properties. */
  #apart(options: ts.ObjectLiteralExpression, form: readonly ts.Node[], first: string): ServerMove {
    const file = this.#file
    const all: readonly ts.Node[] = options.properties
    // Lines inside of templates are part of the text, so such a property keeps its lines.
    const texts = form.map((one) => one.getText(file))
    const [head] = form
    const isLong =
      head !== undefined && lineOf(file, options.getStart(file)) !== lineOf(file, head.getStart(file))
    const indent = head === undefined ? '' : indentOf(file.text, head.getStart(file))
    const inner = isLong
      ? `{\n${indent}  ${first}${texts.map((text) => (text.includes('`') ? text : text.replaceAll('\n', '\n  '))).join(`,\n${indent}  `)}\n${indent}}`
      : `{ ${first}${texts.join(', ')} }`
    const edits = form.map((one, index): Edit => {
      const next = all[all.indexOf(one) + 1]
      if (index === 0)
        return {
          start: one.getStart(file),
          end: one.getEnd(),
          text: `strategy: new MicroserviceServer(${inner})`
        }
      const previous = all[all.indexOf(one) - 1] as ts.Node
      if (next === undefined || form.includes(previous))
        return { start: previous.getEnd(), end: one.getEnd(), text: '' }
      return { start: one.getStart(file), end: next.getStart(file), text: '' }
    })
    if (head !== undefined) return { edits, imports: ['MicroserviceServer'], remarks: [] }
    const at = options.getStart(file) + 1
    const text = ` strategy: new MicroserviceServer({ ${first.replace(/, $/, '')} }),`
    return { edits: [{ start: at, end: at, text }], imports: ['MicroserviceServer'], remarks: [] }
  }

  #factory(factory: ts.Node): ServerMove {
    const ts = this.#ts
    const made: ts.Expression[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isReturnStatement(node) && node.expression !== undefined) made.push(node.expression)
      else if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit)
    }
    const body = ts.isFunctionLike(factory) && 'body' in factory ? factory.body : undefined
    if (body !== undefined && ts.isBlock(body as ts.Node)) visit(body as ts.Node)
    else if (body !== undefined) made.push(body as ts.Expression)
    if (made.length > 0) return joined(made.map((one) => this.move(one)))
    return {
      edits: [],
      imports: [],
      remarks: [
        {
          at: factory.getStart(this.#file),
          text: 'the factory is made elsewhere: let it return { strategy: new MicroserviceServer({ transport, options }) }'
        }
      ]
    }
  }

  /** Options in a constant of the source. */
  #named(given: ts.Expression, name: string, declared: ts.VariableDeclaration): ServerMove {
    const ts = this.#ts
    const literal = bare(ts, declared.initializer as ts.Expression)
    if (!ts.isObjectLiteralExpression(literal)) return this.move(literal)
    const move = this.#literal(literal)
    if (move.edits.length === 0) return move
    const type = declared.type?.getText(this.#file)
    const isFree = type === undefined || WITH_STRATEGY.test(type)
    // The declaration itself is one of them.
    const uses = new RegExp(`\\b${name}\\b`, 'g')
    if (isFree && [...this.#file.text.matchAll(uses)].length === 2) return move
    return this.#wrapped(given, [])
  }

  #declared({ text }: ts.Identifier): ts.VariableDeclaration | undefined {
    const ts = this.#ts
    const found: ts.VariableDeclaration[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isVariableDeclaration(node) && node.name.getText(this.#file) === text) found.push(node)
      ts.forEachChild(node, visit)
    }
    visit(this.#file)
    const [only] = found
    return found.length === 1 && only?.initializer !== undefined ? only : undefined
  }

  #wrapped(options: ts.Node, remarks: readonly Blocker[]): ServerMove {
    const start = options.getStart(this.#file)
    const end = options.getEnd()
    const edits = [
      { start, end: start, text: OPEN },
      { start: end, end, text: CLOSE }
    ]
    return { edits, imports: ['MicroserviceServer'], remarks }
  }

  /** The value of a property, or the property itself if it is a method or stands for a variable. */
  #property(options: ts.ObjectLiteralExpression, name: string): ts.Node | undefined {
    const found = options.properties.find((one) => nameOf(one, this.#file) === name)
    return found !== undefined && this.#ts.isPropertyAssignment(found) ? found.initializer : found
  }
}

/** An expression without parentheses and types. */
function bare(ts: Compiler, given: ts.Expression): ts.Expression {
  let found = given
  while (
    ts.isParenthesizedExpression(found) ||
    ts.isAsExpression(found) ||
    ts.isSatisfiesExpression(found) ||
    ts.isTypeAssertionExpression(found)
  )
    found = found.expression
  return found
}

function joined(moves: readonly ServerMove[]): ServerMove {
  return {
    edits: moves.flatMap(({ edits }) => edits),
    imports: moves.flatMap(({ imports }) => imports),
    remarks: moves.flatMap(({ remarks }) => remarks)
  }
}

function nameOf(property: ts.Node, file: ts.SourceFile): string {
  const { name } = property as ts.Node & { readonly name?: ts.Node }
  return name?.getText(file).replaceAll(/^['"]|['"]$/g, '') ?? ''
}

function lineOf(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line
}

/** The white space at the beginning of the line of a position. */
function indentOf(text: string, position: number): string {
  return /^[\t ]*/.exec(text.slice(text.lastIndexOf('\n', position - 1) + 1))?.[0] ?? ''
}
