/** Schemas as JSON Schema (draft 7), for descriptions. */
import type { AnySchema } from '../schema/schema-types.ts'
import { forMessages } from '../schema/texts-of-urls.ts'
import { isTypeBox, itemsOf } from '../schema/typebox.ts'

/** A JSON Schema: an object that JSON carries. `{}` stands for a schema that cannot be written as one. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The side of a schema that is described: the data that callers send, or those that they get. */
export type SchemaSide = 'input' | 'output'

/** The part of Standard JSON Schema (https://standardschema.dev/json-schema) that is used here. */
interface JsonConverter {
  readonly input?: (options: { readonly target: 'draft-07' }) => unknown
  readonly output?: (options: { readonly target: 'draft-07' }) => unknown
}

const TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null'
])
const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const

/** A schema as JSON Schema. For a stream (`t.AsyncIterator`) it is the schema of its values. */
export function jsonSchemaOf(schema: AnySchema, side: SchemaSide): JsonSchema {
  try {
    if (isTypeBox(schema))
      return ofTypeBox(forMessages(itemsOf(schema) ?? schema, side === 'input' ? 'data' : 'response'))
    const converter = (schema['~standard'] as { readonly jsonSchema?: JsonConverter }).jsonSchema
    return asJson(converter?.[side]?.({ target: 'draft-07' }) ?? {})
  } catch {
    // Its library cannot write it, such as a date.
    return {}
  }
}

/** As text and back: what JSON does not carry, such as symbols and functions, is none of JSON Schema's. */
function asJson(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema
}

function ofTypeBox(schema: object): JsonSchema {
  const definitions: Record<string, unknown> = {}
  const root = plain(asJson(schema), definitions) as JsonSchema
  return Object.keys(definitions).length === 0 ? root : { ...root, definitions }
}

/** TypeBox's types that JSON Schema does not know become `{}`; what refers to itself becomes a definition. */
function plain(node: unknown, definitions: Record<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((each) => plain(each, definitions))
  if (typeof node !== 'object' || node === null) return node
  const { $id, ...schema } = node as Record<string, unknown>
  if (typeof schema['$ref'] === 'string') return { $ref: `#/definitions/${schema['$ref']}` }
  if (!isKnown(schema)) return {}
  for (const union of UNIONS)
    if (Array.isArray(schema[union])) schema[union] = schema[union].filter((each) => isKnown(each))
  // Elysia's mark for properties that are dropped: who sends one is not refused.
  if (schema['additionalProperties'] === false) delete schema['additionalProperties']
  const made = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, plain(value, definitions)])
  )
  if (typeof $id !== 'string') return made
  definitions[$id] = made
  return { $ref: `#/definitions/${$id}` }
}

function isKnown(schema: unknown): boolean {
  const { type } = Object(schema) as { readonly type?: unknown }
  return typeof type !== 'string' || TYPES.has(type)
}
