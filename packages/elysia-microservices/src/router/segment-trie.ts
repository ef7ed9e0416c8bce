/**
 * Wildcard patterns by segments. A look-up walks down the segments of the route; it visits a node at most once, so no
 * message of a peer can make it cost more than the registered patterns do.
 */
import { ONE_SEGMENT, THE_REST } from './handler-pattern.ts'

interface Node<Value> {
  readonly texts: Map<string, Node<Value>>
  one: Node<Value> | undefined
  /** Of the pattern that ends here. */
  value: Value | undefined
  /** Of the pattern that ends with `>` here. */
  rest: Value | undefined
}

/** Called for each pattern that matches, the most specific first; `true` ends the search. */
type Visit<Value> = (value: Value, params: string[]) => boolean

/** Values by wildcard pattern. A value is never `undefined`. */
export class SegmentTrie<Value> {
  readonly #root: Node<Value> = newNode()

  /** The value of a pattern, made when the pattern is first used. */
  getOrAdd(segments: readonly string[], make: () => Value): Value {
    let node = this.#root
    for (const segment of segments) {
      if (segment === THE_REST) {
        node.rest ??= make()
        return node.rest
      }
      node = childOf(node, segment)
    }
    node.value ??= make()
    return node.value
  }

  /**
   * Visits the patterns that match the route, the most specific first: patterns are compared segment by segment from
   * the left, text comes before `*`, `*` before `>`. A wildcard does not stand for an empty segment.
   */
  visit(route: string, visit: Visit<Value>): boolean {
    return walk(this.#root, route, 0, [], visit)
  }
}

function newNode<Value>(): Node<Value> {
  return { texts: new Map(), one: undefined, value: undefined, rest: undefined }
}

function childOf<Value>(node: Node<Value>, segment: string): Node<Value> {
  if (segment === ONE_SEGMENT) {
    node.one ??= newNode()
    return node.one
  }
  let child = node.texts.get(segment)
  if (child === undefined) {
    child = newNode()
    node.texts.set(segment, child)
  }
  return child
}

function walk<Value>(
  node: Node<Value>,
  route: string,
  start: number,
  params: string[],
  visit: Visit<Value>
): boolean {
  const dot = route.indexOf('.', start)
  const segment = dot === -1 ? route.slice(start) : route.slice(start, dot)
  // The end of the route, or the next segment, below the node that this segment leads to.
  const descend = (child: Node<Value>, taken: string[]) => {
    if (dot !== -1) return walk(child, route, dot + 1, taken, visit)
    return child.value !== undefined && visit(child.value, taken)
  }
  const text = node.texts.get(segment)
  if (text !== undefined && descend(text, params)) return true
  if (node.one !== undefined && segment !== '' && descend(node.one, [...params, segment])) return true
  if (node.rest === undefined || start >= route.length) return false
  return visit(node.rest, [...params, route.slice(start)])
}
