/** Moves one source of a Nest application: the edits, and what a person has to decide. */
import type { ts } from '@ts-morph/common'
import type { Compiler } from './compiler.ts'
import type { Edit } from './edits.ts'
import { importEdits, importsOf, NEST } from './imports.ts'
import { blockerIn, transportOf } from './nest-options.ts'
import { type ServerMove, serverMoves } from './servers.ts'

/** A place that needs a decision. Lines are counted from 1. */
export interface Remark {
  readonly line: number
  readonly text: string
}

/** The result for one source. */
export interface Moved {
  readonly edits: readonly Edit[]
  readonly remarks: readonly Remark[]
  /** The names of Nest's transports that the source uses, such as `RMQ`. */
  readonly transports: readonly string[]
}

/** Nest's classes whose instances and subclasses have no counterpart. */
const OWN_END = /^(?:Client|Server)(?:TCP|Redis|Nats|NATS|RMQ|Kafka|Mqtt|MQTT|Grpc|GRPC)(?:Proxy)?$/
/** The makers of clients, which our package has, too. */
const MAKERS = ['ClientsModule', 'ClientProxyFactory', 'Client'] as const
/** Files that are moved only if they make servers themselves. */
const OF_TESTS = /(?:[.-](?:test|spec)\.[cm]?[jt]sx?$|(?:^|\/)(?:tests?|e2e|__tests__)\/)/

/**
 * Reads one source.
 * @param name the path of the source, whose extension says how to parse it
 */
export function moved(ts: Compiler, name: string, text: string): Moved {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const servers = serverMoves(ts, file)
  if (OF_TESTS.test(name) && servers.length === 0) return { edits: [], remarks: [], transports: [] }
  const clients = clientMoves(ts, file)
  const moves = [...servers, ...clients.moves]
  const makers = [...(servers.some(({ byImport }) => byImport) ? ['NestFactory'] : []), ...clients.makers]
  const added = [...new Set(moves.flatMap(({ imports }) => imports))]
  const remarks = [...moves.flatMap(({ remarks }) => remarks), ...foreignEnds(ts, file)]
  return {
    edits: [
      ...moves.flatMap(({ edits }) => edits),
      ...(added.length + makers.length > 0 ? importEdits(ts, file, makers, added) : [])
    ],
    remarks: [...new Map(remarks.map(({ at, text }) => [`${at} ${text}`, { at, text }])).values()]
      .sort((one, other) => one.at - other.at)
      .map(({ at, text }) => ({ line: file.getLineAndCharacterOfPosition(at).line + 1, text })),
    transports: transportsIn(ts, file)
  }
}

/** The moves of clients, and the makers of clients to import from our package. */
function clientMoves(
  ts: Compiler,
  file: ts.SourceFile
): { readonly moves: readonly ServerMove[]; readonly makers: readonly string[] } {
  const { locals, wholes } = importsOf(ts, file, NEST)
  const moves: ServerMove[] = []
  const blocked = new Set<string>()
  const names = MAKERS.map((name) => ({ name, local: locals.get(name) }))
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit)
    if (!ts.isCallExpression(node)) return
    const { expression, parent } = node
    // A decorator is called itself, of the other makers a method.
    const made =
      ts.isPropertyAccessExpression(expression) && !ts.isDecorator(parent)
        ? expression.expression
        : expression
    const whole =
      ts.isPropertyAccessExpression(made) && wholes.has(made.expression.getText(file))
        ? MAKERS.find((name) => name === made.name.text)
        : undefined
    const name = whole ?? names.find(({ local }) => local === made.getText(file))?.name
    if (name === undefined) return
    const blocker = node.arguments.map((one) => blockerIn(ts, file, one)).find((one) => one !== undefined)
    if (blocker !== undefined) {
      blocked.add(name)
      const text = `${blocker.text}; ${name} of this file stays Nest's: give the other clients of it customClass: MicroserviceClient, options: { transport, options }`
      moves.push({ edits: [], imports: [], remarks: [{ at: blocker.at, text }] })
    } else if (whole !== undefined)
      moves.push({
        edits: [{ start: made.getStart(file), end: made.getEnd(), text: name }],
        imports: [name],
        remarks: []
      })
  }
  visit(file)
  const makers = names.flatMap(({ name, local }) =>
    local === undefined || blocked.has(name) ? [] : [name as string]
  )
  return { moves, makers }
}

/** Ends that applications write or make themselves: they stay as they are. */
function foreignEnds(
  ts: Compiler,
  file: ts.SourceFile
): readonly { readonly at: number; readonly text: string }[] {
  const remarks: { readonly at: number; readonly text: string }[] = []
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit)
    const at = node.getStart(file)
    const named = ts.isNewExpression(node) || ts.isExpressionWithTypeArguments(node)
    if (named && OWN_END.test(node.expression.getText(file))) {
      const name = node.expression.getText(file)
      const ours = name.startsWith('Client') ? 'MicroserviceClient' : 'MicroserviceServer'
      remarks.push({
        at,
        text: `${name} is used directly and stays Nest's; use ${ours} with { transport, options }, if it shall move`
      })
    }
    if (!ts.isPropertyAssignment(node)) return
    const name = node.name.getText(file)
    const value = node.initializer.getText(file)
    if (name === 'customClass' && value !== 'MicroserviceClient')
      remarks.push({ at, text: `the client class ${value} is your own and stays` })
    if (
      name === 'strategy' &&
      !value.includes('MicroserviceServer') &&
      importsOf(ts, file, NEST).names.length > 0
    )
      remarks.push({ at, text: 'the strategy is your own and stays' })
  }
  visit(file)
  return remarks
}

function transportsIn(ts: Compiler, file: ts.SourceFile): readonly string[] {
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit)
    if (ts.isPropertyAssignment(node) && node.name.getText(file) === 'transport') {
      const name = transportOf(ts, node.initializer)
      if (name !== undefined) found.add(name)
    }
  }
  visit(file)
  return [...found]
}
