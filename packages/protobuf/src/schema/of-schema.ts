/** The message for a schema of a pattern's data or answer. */
import type { Collected } from './collected.ts'
import type { JsonSchema } from './described.ts'
import type { Schema } from './json-schema.ts'
import type { Type } from './model.ts'
import { ANY, EMPTY, Reading } from './reading.ts'

/**
 * The message that a method takes or gives. Everything but objects and any JSON is the field `value` of a message.
 * @param path where the schema is, for sentences
 * @param name the name of the message
 */
export function messageOf(into: Collected, schema: JsonSchema | undefined, path: string, name: string): Type {
  if (schema === undefined) return ANY
  const reading = new Reading(into, schema as Schema)
  // The message itself has the name only if it is no wrapper.
  const inner = reading.isObject(schema as Schema) ? name : `${name}Value`
  const { type, isNullable } = reading.find(schema as Schema, path, inner)
  // `null` is JSON, too.
  if (type === ANY || type === EMPTY) return ANY
  if (!isNullable && type.kind === 'message') return type
  return { kind: 'message', message: into.wrapper(type, isNullable, name) }
}
