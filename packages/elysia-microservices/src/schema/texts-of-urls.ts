/**
 * Adapts Elysia's types for values in URLs to messages. `t.Integer`, `t.Numeric`, `t.BooleanString`,
 * `t.ObjectString` and others are unions of a text and the value to which the text is decoded, because a query has
 * only texts. A message, however, has real numbers and objects. As in `typebox.ts`, nothing of TypeBox or Elysia is
 * loaded here.
 */

/** The formats by which Elysia marks such texts. `t.ArrayQuery` has no format, only a name. */
const FORMATS: ReadonlySet<unknown> = new Set([
  'integer',
  'numeric',
  'boolean',
  'ObjectString',
  'ArrayString'
])

const KIND = Symbol.for('TypeBox.Kind')
const TRANSFORM = Symbol.for('TypeBox.Transform')
/** Marks on a union that must be copied to the schema that replaces it. */
const MODIFIERS = [Symbol.for('TypeBox.Optional'), Symbol.for('TypeBox.Readonly')]

/** The keys whose value is a schema or a list of schemas, and the keys whose value is a map of schemas. */
const SCHEMAS: ReadonlySet<string> = new Set([
  ...['items', 'anyOf', 'allOf', 'oneOf', 'not', 'contains'],
  ...['additionalProperties', 'additionalItems', 'unevaluatedProperties']
])
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions'
])

interface Transform {
  readonly Decode: (value: unknown) => unknown
}

/** Any TypeBox schema. */
type Node = Readonly<Record<PropertyKey, unknown>>

/** A union of a text in a URL and the decoded value. */
interface TextUnion {
  /** The format of the text. */
  readonly format: unknown
  /** The schema of the value to which the text is decoded. */
  readonly member: Node
  /** The decoder of `t.NumericEnum`, which is the only place that has the allowed values. */
  readonly checks: Transform | undefined
}

/** Returns the parts of such a union; `undefined` for all other schemas. */
function textUnionOf(node: Node): TextUnion | undefined {
  const transform = node[TRANSFORM] as Transform | undefined
  if (transform === undefined || !Array.isArray(node['anyOf']) || node['anyOf'].length !== 2) return undefined
  const members = node['anyOf'] as readonly Node[]
  const text = members.find((member) => member[KIND] === 'String')
  const member = members.find((one) => one !== text)
  if (text === undefined || member === undefined) return undefined
  const { format = node['elysiaMeta'] } = text
  if (!FORMATS.has(format) && format !== 'ArrayQuery') return undefined
  return { format, member, checks: format === 'numeric' && !('default' in text) ? transform : undefined }
}

/** Whether a member of a union is the text for the union's decoded value. */
export function isTextOf(union: object, member: object): boolean {
  const found = textUnionOf(union as Node)
  return found !== undefined && found.member !== member
}

/**
 * Returns the schema as messages use it. In data, `t.Integer` allows only numbers, and texts are allowed only for
 * types that are named after them (`t.Numeric`, `t.BooleanString`, `t.ObjectString`, …). In responses no such texts
 * are allowed, because the result of a handler does not come from a URL. A schema without such types is returned
 * unchanged.
 */
export function forMessages<Schema extends object>(schema: Schema, role: 'data' | 'response'): Schema {
  return replaced(schema as Node, role) as Schema
}

function replaced(node: Node, role: 'data' | 'response'): Node {
  const union = textUnionOf(node)
  if (union !== undefined && (role === 'response' || union.format === 'integer')) {
    const marks = MODIFIERS.filter((mark) => mark in node).map((mark) => [mark, node[mark]])
    return { ...replaced(memberOf(union), role), ...Object.fromEntries(marks) }
  }
  const changed: [string, unknown][] = []
  for (const [key, part] of Object.entries(node)) {
    const own = SCHEMAS.has(key) ? inside(part, role) : NAMED_SCHEMAS.has(key) ? inEach(part, role) : part
    if (own !== part) changed.push([key, own])
  }
  return changed.length === 0 ? node : { ...node, ...Object.fromEntries(changed) }
}

/** Replaces such unions in a schema, or in each schema of a list. */
function inside(part: unknown, role: 'data' | 'response'): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (!Array.isArray(part)) return replaced(part as Node, role)
  const all = part.map((each) => inside(each, role))
  return all.some((each, index) => each !== part[index]) ? all : part
}

/** Replaces such unions in a map of schemas. */
function inEach(parts: unknown, role: 'data' | 'response'): unknown {
  const entries = Object.entries(Object(parts) as object)
  const all = entries.map(([name, part]) => [name, inside(part, role)] as const)
  return all.some(([, part], index) => part !== entries[index]?.[1]) ? Object.fromEntries(all) : parts
}

function memberOf({ member, checks }: TextUnion): Node {
  if (checks === undefined) return member
  const check = (value: unknown) => (typeof value === 'number' ? checks.Decode(value) : value)
  return { ...member, [TRANSFORM]: { Decode: check, Encode: check } }
}
