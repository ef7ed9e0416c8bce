/** Writes schemas as JSON Schema (draft 7), for descriptions. */
import { isSameValue } from '../hooks/same-value.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import { forMessages } from '../schema/texts-of-urls.ts'
import { isTypeBox, itemsOf } from '../schema/typebox.ts'

/**
 * A JSON Schema: an object that can be written as JSON. `{}`, which allows any value, replaces a schema that JSON
 * Schema cannot express.
 */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * The side of a schema that is described: the values that callers send (input), or the values that they get
 * (output).
 */
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
const DEFINITIONS: readonly string[] = ['definitions', '$defs']
const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const

/** A schema as JSON Schema. For a stream (`t.AsyncIterator`) the result is the schema of its values. */
export function jsonSchemaOf(schema: AnySchema, side: SchemaSide): JsonSchema {
  try {
    if (isTypeBox(schema))
      return ofTypeBox(forMessages(itemsOf(schema) ?? schema, side === 'input' ? 'data' : 'response'))
    const converter = (schema['~standard'] as { readonly jsonSchema?: JsonConverter }).jsonSchema
    return asJson(converter?.[side]?.({ target: 'draft-07' }) ?? {})
  } catch {
    // The schema's library cannot write it as JSON Schema, for example a date.
    return {}
  }
}

/** Several schemas that must all hold as one JSON Schema. */
export function jsonSchemaOfAll(schemas: readonly AnySchema[], side: SchemaSide): JsonSchema {
  const all = schemas.map((schema) => jsonSchemaOf(schema, side))
  const [first = {}] = all
  if (all.length < 2) return first
  // References of a schema are relative to the whole document, so definitions are moved to its root.
  const moved: Record<string, Record<string, unknown>> = {}
  const parts = all.map((schema) => withoutDefinitions(schema, moved))
  return { allOf: parts, ...moved }
}

/** Moves the definitions of a schema. A schema whose definitions have names that others use is replaced by `{}`. */
function withoutDefinitions(schema: JsonSchema, moved: Record<string, Record<string, unknown>>): JsonSchema {
  const { $schema: _dialect, ...own } = schema
  const entries = DEFINITIONS.flatMap((key) =>
    Object.entries(Object(own[key])).map(([name, one]) => ({ key, name, one }))
  )
  if (entries.some(({ key, name, one }) => !isFree(moved[key], name, one))) return {}
  for (const { key, name, one } of entries) {
    moved[key] ??= {}
    moved[key][name] = one
  }
  return Object.fromEntries(Object.entries(own).filter(([key]) => !DEFINITIONS.includes(key)))
}

function isFree(taken: Record<string, unknown> | undefined, name: string, one: unknown): boolean {
  return taken?.[name] === undefined || isSameValue(taken[name], one)
}

/** Copies a schema through JSON, which removes parts that JSON Schema does not have, such as symbols and functions. */
function asJson(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema
}

function ofTypeBox(schema: object): JsonSchema {
  const definitions: Record<string, unknown> = {}
  const root = plain(asJson(schema), definitions) as JsonSchema
  return Object.keys(definitions).length === 0 ? root : { ...root, definitions }
}

/** Replaces types of TypeBox that JSON Schema does not have by `{}`, and moves recursive schemas to `definitions`. */
function plain(node: unknown, definitions: Record<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((each) => plain(each, definitions))
  if (typeof node !== 'object' || node === null) return node
  const { $id, ...schema } = node as Record<string, unknown>
  if (typeof schema['$ref'] === 'string') return { $ref: `#/definitions/${schema['$ref']}` }
  if (!isKnown(schema)) return {}
  for (const union of UNIONS)
    if (Array.isArray(schema[union])) schema[union] = schema[union].filter((each) => isKnown(each))
  // Elysia sets `additionalProperties: false` to drop such properties, not to refuse them, so the description must
  // not say that they are refused.
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
