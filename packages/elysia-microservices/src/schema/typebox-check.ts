/** Checks by TypeBox, compiled by Elysia itself, so that `t` means the same as in a route. */
import { OptionalKind } from '@sinclair/typebox'
import { TransformDecodeError, TransformEncode, Value, type ValueError } from '@sinclair/typebox/value'
import { getSchemaValidator, type TSchema } from 'elysia'
import { type Check, MOST_VIOLATIONS, pathPart, SchemaViolation, type Violation } from './check.ts'
import { expectationsOf } from './expected.ts'
import { forMessages } from './texts-of-urls.ts'

/** The use of a schema; Elysia coerces bodies, headers and responses each in its own way. */
export type SchemaRole = 'data' | 'headers' | 'response'

/** Most errors that TypeBox is asked for: it may have several of one path. */
const MOST_LOOKED_AT = 8 * MOST_VIOLATIONS

type Validator = NonNullable<ReturnType<typeof getSchemaValidator>>
type CompileOptions = NonNullable<Parameters<typeof getSchemaValidator>[1]>

const OPTIONS: Record<SchemaRole, CompileOptions> = {
  data: { normalize: true },
  // Headers are text, and some are none of the handler's business: those stay.
  headers: { coerce: true, additionalProperties: true },
  response: { normalize: true }
}

/** The check of a schema. Data and headers are decoded, responses encoded. */
export function typeBoxCheck(given: TSchema, role: SchemaRole): Check {
  const schema = role === 'headers' ? given : forMessages(given, role)
  // Elysia types its argument more narrowly than its own `TSchema`.
  const validator: Validator = getSchemaValidator(schema as never, OPTIONS[role]) as never
  const compiled = validator.schema as never
  // Elysia's own flags do not look into arrays; one too many costs time, one too few a wrong value.
  const hasDefault = hasKey(compiled, 'default')
  // As for bodies: where an object has defaults, data that is missing is an object without properties.
  const missing =
    role === 'data' && hasDefault && Reflect.get(validator.schema, 'type') === 'object' ? {} : undefined
  const mayBeMissing = OptionalKind in validator.schema
  const clean = validator.Clean?.bind(validator)
  const { hasTransform } = validator
  return (data) => {
    const given = data === undefined ? missing : data
    if (given === undefined && mayBeMissing && !hasDefault) return undefined
    // Handlers of one event share its data: defaults are filled into a copy.
    let value = hasDefault ? Value.Default(compiled, Value.Clone(given)) : given
    if (hasTransform && role === 'response') value = encode(compiled, value)
    if (clean !== undefined) value = cleaned(clean, value)
    if (!validator.Check(value)) throw violationOf(schema, validator, value)
    return hasTransform && role !== 'response' ? decode(validator, value) : value
  }
}

/** Whether a schema has a key anywhere. One too many is found where a property has that name. */
function hasKey(schema: unknown, key: string): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return key in schema || Object.values(schema).some((part) => hasKey(part, key))
}

/** Drops unknown properties. What is too odd to be cleaned is told by the check, not by the cleaner. */
function cleaned(clean: (value: unknown) => unknown, value: unknown): unknown {
  try {
    return clean(value)
  } catch {
    return value
  }
}

function decode(validator: Validator, value: unknown): unknown {
  try {
    return validator.Decode(value)
  } catch (error) {
    if (!(error instanceof TransformDecodeError)) throw error
    // A decoder's error was not written for callers: it is the cause, not the message.
    throw new SchemaViolation(
      { path: pathOf(error.path), expected: 'a value that can be decoded', received: error.value },
      error.error
    )
  }
}

/** Encodes without a check, which would refuse the properties that are dropped next. */
function encode(schema: never, value: unknown): unknown {
  try {
    return TransformEncode(schema, [], value)
  } catch (error) {
    throw new SchemaViolation({ path: '', expected: 'a value that can be encoded', received: value }, error)
  }
}

function violationOf(given: TSchema, validator: Validator, value: unknown): SchemaViolation {
  // The schema as it was given: what coercion made of it says "union value" for a number.
  let all = violationsIn(Value.Errors(given as never, value))
  if (all.length === 0) all = violationsIn(validator.Errors(value))
  const first = all[0] ?? { path: '', expected: 'another value', received: value }
  return new SchemaViolation(first, undefined, all.length === 0 ? [first] : all)
}

/** The first of each path: a property that is missing is of a wrong type, too. */
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

/** From a JSON pointer. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => pathPart(key.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('')
}
