/**
 * Elysia's types for the texts of URLs: `t.Integer`, `t.Numeric`, `t.BooleanString`, `t.ObjectString` and others are unions
 * of a text and what it is decoded to, because a query has nothing but texts. A message has real numbers and objects.
 * As in `typebox.ts`, nothing of TypeBox or Elysia is loaded here.
 */

/** Formats that Elysia has invented for such texts. `t.ArrayQuery` has none, only a name. */
const FORMATS: ReadonlySet<unknown> = new Set([
  'integer',
  'numeric',
  'boolean',
  'ObjectString',
  'ArrayString'
])

const KIND = Symbol.for('TypeBox.Kind')
const TRANSFORM = Symbol.for('TypeBox.Transform')
/** Marks that stand on the union, and belong to what takes its place. */
const MODIFIERS = [Symbol.for('TypeBox.Optional'), Symbol.for('TypeBox.Readonly')]

/** Keys with a schema or a list of them, and keys with schemas by name. */
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

/** A schema of TypeBox, of which nothing is known yet. */
type Node = Readonly<Record<PropertyKey, unknown>>

/** A union for a text of a URL. */
interface TextUnion {
  /** The format of the text. */
  readonly format: unknown
  /** The schema of the value that the text is decoded to. */
  readonly member: Node
  /** `t.NumericEnum` keeps its values where nobody else sees them: its decoder says which they are. */
  readonly checks: Transform | undefined
}

/** `undefined` for all other schemas. */
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

/** Whether a member of a union is the text that stands for another one. */
export function isTextOf(union: object, member: object): boolean {
  const found = textUnionOf(union as Node)
  return found !== undefined && found.member !== member
}

/**
 * The schema as messages have it: in data, whole numbers are whole numbers, and texts are taken only where a type is
 * named after them (`t.Numeric`, `t.BooleanString`, `t.ObjectString`, …); in responses none are, because what a handler
 * returns comes from no URL. A schema without such types is returned as it is.
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

/** In a schema, or in each of a list. */
function inside(part: unknown, role: 'data' | 'response'): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (!Array.isArray(part)) return replaced(part as Node, role)
  const all = part.map((each) => inside(each, role))
  return all.some((each, index) => each !== part[index]) ? all : part
}

/** In schemas by name. */
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
