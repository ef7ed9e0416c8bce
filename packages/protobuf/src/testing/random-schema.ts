/** Random schemas for which protobuf has words, with values of each. */
import fc from 'fast-check'

type Json = Record<string, unknown>

/** A schema, and its values as they arrive. */
export interface RandomSchema {
  readonly schema: Json
  readonly values: fc.Arbitrary<unknown>
}

const PROPERTIES = ['a', 'someField', 'order_id', 'URL', 'x1', 'ä', '_id', 'type', 'toString'] as const
const LITERALS = ['paid', 'in-progress', 'Open', 'x y', 'ü'] as const

const time = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((date) => date.toISOString())

const scalar: fc.Arbitrary<RandomSchema> = fc.constantFrom<RandomSchema>(
  { schema: { type: 'string' }, values: fc.string({ unit: 'grapheme' }) },
  { schema: { type: 'boolean' }, values: fc.boolean() },
  { schema: { type: 'number' }, values: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { schema: { type: 'integer' }, values: fc.maxSafeInteger() },
  { schema: { type: 'integer', minimum: -5, maximum: 100 }, values: fc.integer({ min: -5, max: 100 }) },
  { schema: { type: 'string', format: 'date-time' }, values: time }
)

const literals: fc.Arbitrary<RandomSchema> = fc
  .uniqueArray(fc.constantFrom(...LITERALS), { minLength: 1 })
  .map((all) => ({
    schema: { anyOf: all.map((one) => ({ const: one, type: 'string' })) },
    values: fc.constantFrom(...all)
  }))

const json: RandomSchema = {
  schema: {},
  values: fc
    .jsonValue()
    .filter((value) => JSON.stringify(value) !== undefined)
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
}

/** Random schemas. */
export const randomSchema: fc.Arbitrary<RandomSchema> = fc.letrec<{ any: RandomSchema; item: RandomSchema }>(
  (tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      literals,
      fc.constant(json),
      tie('item').map(arrayOf),
      tie('item').map(recordOf),
      fc.array(fc.tuple(tie('any'), fc.boolean(), fc.boolean()), { maxLength: 4 }).map(objectOf)
    ),
    // Lists and maps have no null.
    item: tie('any')
  })
).any

function arrayOf({ schema, values }: RandomSchema): RandomSchema {
  return { schema: { type: 'array', items: schema }, values: fc.array(values, { maxLength: 3 }) }
}

function recordOf({ schema, values }: RandomSchema): RandomSchema {
  return {
    schema: { type: 'object', patternProperties: { '^(.*)$': schema } },
    values: fc.dictionary(fc.string(), values, { maxKeys: 3, noNullPrototype: true })
  }
}

function objectOf(
  members: readonly (readonly [RandomSchema, isOptional: boolean, isNullable: boolean])[]
): RandomSchema {
  const properties: Json = {}
  const required: string[] = []
  const always: Record<string, fc.Arbitrary<unknown>> = {}
  const maybe: Record<string, fc.Arbitrary<unknown>> = {}
  for (const [index, [{ schema, values }, isOptional, isNullable]] of members.entries()) {
    const name = PROPERTIES[(index * 2 + JSON.stringify(schema).length) % PROPERTIES.length] as string
    if (name in properties) continue
    // Any JSON may be null in any case, and a list or map that is missing arrives empty.
    const isAny = Object.keys(schema).length === 0
    const isList = schema['type'] === 'array' || 'patternProperties' in schema
    const mayBeNull = isNullable && !isOptional && !isAny
    properties[name] = mayBeNull ? { anyOf: [schema, { type: 'null' }] } : schema
    if (isOptional && !isList) maybe[name] = values
    else {
      if (!isOptional) required.push(name)
      always[name] = mayBeNull ? fc.option(values) : values
    }
  }
  return {
    schema: { type: 'object', properties, required },
    values: fc.record(
      { ...always, ...maybe },
      { requiredKeys: Object.keys(always), noNullPrototype: true }
    ) as fc.Arbitrary<unknown>
  }
}
