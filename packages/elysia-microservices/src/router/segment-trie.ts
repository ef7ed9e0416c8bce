/**
 * Finds wildcard patterns by the segments of a route. A look-up visits each node of the tree at most once, so no
 * route that a peer sends can cost more than the number of registered patterns.
 */
import { ONE_SEGMENT, THE_REST } from './handler-pattern.ts'

interface Node<Value> {
  readonly texts: Map<string, Node<Value>>
  one: Node<Value> | undefined
  /** The value of the pattern that ends at this node. */
  value: Value | undefined
  /** The value of the pattern that ends with `>` at this node. */
  rest: Value | undefined
}

/** Called for each pattern that matches, the most specific first. The result `true` ends the search. */
type Visit<Value> = (value: Value, params: string[]) => boolean

/** A map from wildcard patterns to values. A value is never `undefined`. */
export class SegmentTrie<Value> {
  readonly #root: Node<Value> = newNode()

  /** The value of a pattern. It is made when the pattern is first used. */
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
   * Visits the patterns that match the route, the most specific first. Patterns are compared segment by segment
   * from the left: text comes before `*`, and `*` before `>`. A wildcard does not match an empty segment.
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
  // Goes on below a child node with the next segment, or visits the child's value if the route ends here.
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
