/** Checks shapes, and fills in the defaults. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { ProtoShapes } from '../proto-shapes.ts'

/** All shapes. */
export type Shapes = { readonly [Name in keyof Required<ProtoShapes>]: Exclude<ProtoShapes[Name], undefined> }

const DEFAULTS: Shapes = {
  names: 'camelCase',
  int64: 'bigint',
  enums: 'name',
  bytes: 'bytes',
  wellKnown: 'values',
  timestamps: 'date',
  durations: 'text',
  defaults: 'all',
  presence: 'proto',
  oneofs: 'fields',
  strict: true
}

const CHOICES: { readonly [Name in keyof Shapes]: readonly unknown[] } = {
  names: ['camelCase', 'proto'],
  int64: ['bigint', 'number', 'string'],
  enums: ['name', 'number'],
  bytes: ['bytes', 'base64'],
  wellKnown: ['values', 'messages'],
  timestamps: ['date', 'text', 'message'],
  durations: ['text', 'message'],
  defaults: ['all', 'nulls', 'lists', 'none'],
  presence: ['proto', 'sent'],
  oneofs: ['fields', 'named'],
  strict: [true, false]
}

/** Shapes that may be functions. */
const FUNCTIONS: ReadonlySet<string> = new Set(['names', 'int64', 'bytes'])

/** The names of all shapes. */
export const SHAPE_NAMES = Object.keys(DEFAULTS)

/**
 * @param beside names of options that are no shapes
 * @throws {OptionError} a shape is wrong, or its name is
 */
export function shapesOf(given: ProtoShapes, beside: readonly string[] = []): Shapes {
  checkNames('options', given, [...SHAPE_NAMES, ...beside])
  const shapes: Record<string, unknown> = { ...DEFAULTS }
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = given[name as keyof ProtoShapes]
    if (value === undefined) continue
    if (!choices.includes(value) && !(FUNCTIONS.has(name) && typeof value === 'function')) {
      const named = choices.map((choice) => (typeof choice === 'string' ? `'${choice}'` : String(choice)))
      const or = FUNCTIONS.has(name) ? [...named, 'a function'] : named
      throw OptionError.expected(`options.${name}`, or.join(' or '), value)
    }
    shapes[name] = value
  }
  return shapes as unknown as Shapes
}
