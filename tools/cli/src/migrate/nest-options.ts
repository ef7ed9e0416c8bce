/** Reads options of Nest in sources: the transport, and what cannot move. */
import type { ts } from '@ts-morph/common'
import type { Compiler } from './compiler.ts'

/** A place in a source, and why it cannot move. */
export interface Blocker {
  readonly at: number
  readonly text: string
}

/** The name of a transport, as in `Transport.RMQ`; `undefined` if the source does not say. */
export function transportOf(ts: Compiler, value: ts.Node): string | undefined {
  if (ts.isAsExpression(value)) return transportOf(ts, value.expression)
  if (!ts.isPropertyAccessExpression(value)) return undefined
  return /\bTransport$/.test(value.expression.getText()) ? value.name.text : undefined
}

/** The first thing in options that has no counterpart: packets that the application writes itself. */
export function blockerIn(ts: Compiler, file: ts.SourceFile, options: ts.Node): Blocker | undefined {
  let found: Blocker | undefined
  const visit = (node: ts.Node): void => {
    if (found !== undefined) return
    if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) {
      const name = node.name.getText(file)
      const at = node.getStart(file)
      if (name === 'serializer' || name === 'deserializer')
        found = {
          at,
          text: `a ${name} has no counterpart here: change data in pipes and interceptors, or leave it with Nest's transport`
        }
    }
    ts.forEachChild(node, visit)
  }
  visit(options)
  return found
}
