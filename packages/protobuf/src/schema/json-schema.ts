/** The parts of JSON Schema that are read here, and questions about them. */

/** A JSON Schema. */
export interface Schema {
  readonly $ref?: string
  readonly $id?: string
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema | readonly Schema[]
  readonly prefixItems?: readonly Schema[]
  readonly nullable?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
}

const INT_32 = [-(2 ** 31), 2 ** 31 - 1] as const

/** Whether all values of an integer fit into 32 bits. */
export function isSmall({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: Schema): boolean {
  const least = minimum ?? exclusiveMinimum ?? Number.NEGATIVE_INFINITY
  const most = maximum ?? exclusiveMaximum ?? Number.POSITIVE_INFINITY
  return least >= INT_32[0] && most <= INT_32[1]
}

export function isInt32(value: number): boolean {
  return Number.isInteger(value) && value >= INT_32[0] && value <= INT_32[1]
}

export function isNumber({ type }: Schema): boolean {
  return type === 'number'
}

/** Whether a schema is a form of a point in time. */
export function isTime({ type, format }: Schema): boolean {
  return type === 'number' || (type === 'string' && (format === 'date-time' || format === 'date'))
}

/** Objects that must all hold as one object. */
export function merged(all: readonly Schema[]): Schema {
  const properties: Record<string, Schema> = {}
  for (const one of all)
    for (const [name, schema] of Object.entries(one.properties ?? {})) {
      const before = Object.hasOwn(properties, name) ? properties[name] : undefined
      const isSame = before === undefined || JSON.stringify(before) === JSON.stringify(schema)
      properties[name] = isSame ? schema : { allOf: [before as Schema, schema] }
    }
  return { type: 'object', properties, required: [...new Set(all.flatMap(({ required = [] }) => required))] }
}
