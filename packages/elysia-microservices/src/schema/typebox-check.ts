/** Checks values with TypeBox. Elysia itself compiles the schemas, so that `t` means the same as in an Elysia route. */
import { OptionalKind } from '@sinclair/typebox'
import {
  HasTransform,
  TransformDecode,
  TransformDecodeError,
  TransformEncode,
  Value,
  type ValueError
} from '@sinclair/typebox/value'
import { getSchemaValidator, type TSchema } from 'elysia'
import { type Check, MOST_VIOLATIONS, pathPart, SchemaViolation, type Violation } from './check.ts'
import { expectationsOf } from './expected.ts'
import { forMessages } from './texts-of-urls.ts'

/** The purpose of a schema. Elysia coerces bodies, headers and responses each in a different way. */
export type SchemaRole = 'data' | 'headers' | 'response'

/**
 * How many of TypeBox's errors are read at most. There may be several errors for one path, so this is more than are
 * reported.
 */
const MOST_LOOKED_AT = 8 * MOST_VIOLATIONS

type Validator = NonNullable<ReturnType<typeof getSchemaValidator>>
type CompileOptions = NonNullable<Parameters<typeof getSchemaValidator>[1]>

const OPTIONS: Record<SchemaRole, CompileOptions> = {
  data: { normalize: true },
  // Headers are texts, so they are coerced. Messages have headers that the schema does not name, and these are
  // kept.
  headers: { coerce: true, additionalProperties: true },
  response: { normalize: true }
}

/** Makes the check for a schema. Data and headers are decoded, responses are encoded. */
export function typeBoxCheck(given: TSchema, role: SchemaRole): Check {
  // Elysia writes into the schema, which may also be used for another purpose: so it gets a copy.
  const schema = { ...(role === 'headers' ? given : forMessages(given, role)) }
  // The parameter's type in Elysia is narrower than Elysia's own `TSchema`.
  const validator: Validator = getSchemaValidator(schema as never, OPTIONS[role]) as never
  const compiled = validator.schema as never
  // Elysia's own flags ignore schemas inside arrays, so the schema is searched here. A key found by mistake costs
  // time; a key that is missed would give a wrong value.
  const hasDefault = hasKey(compiled, 'default')
  // As with Elysia's bodies: if an object has defaults, missing data is treated as an empty object.
  const missing =
    role === 'data' && hasDefault && Reflect.get(validator.schema, 'type') === 'object' ? {} : undefined
  const mayBeMissing = OptionalKind in validator.schema
  const clean = validator.Clean?.bind(validator)
  // Elysia's own flag ignores schemas inside records and tuples, too.
  const hasTransform = HasTransform(compiled, [])
  return (data) => {
    const given = data === undefined ? missing : data
    if (given === undefined && mayBeMissing && !hasDefault) return undefined
    // Several handlers of one event share its data, so the defaults are filled into a copy.
    let value = hasDefault ? Value.Default(compiled, Value.Clone(given)) : given
    if (hasTransform && role === 'response') value = encode(compiled, value)
    if (clean !== undefined) value = cleaned(clean, value)
    if (!validator.Check(value)) throw violationOf(schema, validator, value)
    return hasTransform && role !== 'response' ? decode(compiled, value) : value
  }
}

/** Whether a schema has a key anywhere. A property of the data with the same name counts by mistake. */
function hasKey(schema: unknown, key: string): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return key in schema || Object.values(schema).some((part) => hasKey(part, key))
}

/**
 * Drops unknown properties. If the cleaner throws, the value stays as it is, and the check reports what is wrong
 * with it.
 */
function cleaned(clean: (value: unknown) => unknown, value: unknown): unknown {
  try {
    return clean(value)
  } catch {
    return value
  }
}

/** Decodes a value that was checked. */
function decode(schema: never, value: unknown): unknown {
  try {
    return TransformDecode(schema, [], value)
  } catch (error) {
    if (!(error instanceof TransformDecodeError)) throw error
    // The decoder's own error was not written for callers, so it becomes the cause and not the message.
    throw new SchemaViolation(
      { path: pathOf(error.path), expected: 'a value that can be decoded', received: error.value },
      error.error
    )
  }
}

/** Encodes without a check: a check would refuse the unknown properties, which are only dropped in the next step. */
function encode(schema: never, value: unknown): unknown {
  try {
    return TransformEncode(schema, [], value)
  } catch (error) {
    throw new SchemaViolation({ path: '', expected: 'a value that can be encoded', received: value }, error)
  }
}

function violationOf(given: TSchema, validator: Validator, value: unknown): SchemaViolation {
  // The original schema is used for the messages: with the coerced schema the message for a number would be "union
  // value".
  let all = violationsIn(Value.Errors(given as never, value))
  if (all.length === 0) all = violationsIn(validator.Errors(value))
  const first = all[0] ?? { path: '', expected: 'another value', received: value }
  return new SchemaViolation(first, undefined, all.length === 0 ? [first] : all)
}

/** The first violation of each path. There may be more: a missing property, for example, also has a wrong type. */
function violationsIn(errors: Iterable<ValueError>): readonly Violation[] {
  const byPath = new Map<string, Violation>()
  let looked = 0
  for (const error of errors) {
    for (const { path, expected, value: received } of expectationsOf(error, MOST_VIOLATIONS))
      if (!byPath.has(path)) byPath.set(path, { path: pathOf(path), expected, received })
    if (byPath.size >= MOST_VIOLATIONS || ++looked === MOST_LOOKED_AT) break
  }
  return [...byPath.values()].slice(0, MOST_VIOLATIONS)
}

/** Converts a JSON pointer to a path. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => pathPart(key.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('')
}
