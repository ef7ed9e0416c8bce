/** Says in words what a schema expects. For a union TypeBox's own text is only "union value". */
import { type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { isTextOf } from './texts-of-urls.ts'

const KIND = Symbol.for('TypeBox.Kind')
/** How many members of a union are named at most. */
const MOST_NAMED = 12

/**
 * The expectation of a schema, in words: the schema's own words (`error`), else the words of this library, else
 * TypeBox's.
 */
export function expectedBy({ type, schema, message }: ValueError): string {
  const own: unknown = Reflect.get(schema, 'error')
  if (typeof own === 'string') return own
  const isNamed = type === ValueErrorType.Union || (type === ValueErrorType.Kind && 'enum' in schema)
  const named = isNamed ? namesOf(schema) : []
  if (named.length === 0) return message.replace(/^Expected (value to be )?/, '')
  return listed(named)
}

function listed(names: readonly string[]): string {
  const all = [...new Set(names)]
  const most = all.slice(0, MOST_NAMED)
  const last = all.length > MOST_NAMED ? 'others' : most.pop()
  return most.length === 0 ? String(last) : `${most.join(', ')} or ${last}`
}

function namesOf(schema: object): string[] {
  const { anyOf, enum: values, const: value, format, type } = schema as Readonly<Record<string, unknown>>
  const kind: unknown = Reflect.get(schema, KIND)
  if (Array.isArray(anyOf))
    return (anyOf as object[]).flatMap((member) => (isTextOf(schema, member) ? [] : namesOf(member)))
  if (Array.isArray(values)) return values.map(shown)
  if (value !== undefined) return [shown(value)]
  if (format === 'date' || format === 'date-time' || kind === 'Date') return ['date']
  if (kind === 'Undefined') return []
  return [typeof type === 'string' ? type : String(kind)]
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

/** An expectation that the value at a path does not meet. */
export interface Expectation {
  /** The path as a JSON pointer. */
  readonly path: string
  readonly expected: string
  readonly value: unknown
}

/**
 * The expectations behind an error. For a union these are the expectations of the member that the caller most
 * likely meant, if that can be decided.
 */
export function expectationsOf(error: ValueError, most: number): Expectation[] {
  const isOpen = error.type === ValueErrorType.Union && !('error' in error.schema)
  const meant = isOpen ? memberErrors(error, most) : undefined
  return meant ?? [{ path: error.path, expected: expectedBy(error), value: error.value }]
}

function memberErrors({ path, schema, errors }: ValueError, most: number): Expectation[] | undefined {
  const isText = (index: number) => isTextOf(schema, (schema['anyOf'] as object[])[index] as object)
  const members = errors.filter((_, index) => !isText(index)).map((member) => firstOf(member, most))
  // A member for another kind of value, such as a text instead of an object, fails at the value itself, so it is
  // not the member that was meant.
  const meant =
    members.length === 1 ? members : members.filter((all) => all.every((one) => one.path !== path))
  const [best, second] = meant.sort((one, other) => misfit(one) - misfit(other))
  if (best === undefined) return undefined
  if (second === undefined || misfit(best) < misfit(second)) return inAll(best, most)
  return tagOf(meant)
}

function inAll(errors: readonly ValueError[], most: number): Expectation[] {
  const found: Expectation[] = []
  for (const error of errors) {
    if (found.length >= most) break
    found.push(...expectationsOf(error, most - found.length))
  }
  return found
}

/**
 * The lower the result, the more likely the member was meant. Constants that fit weigh more than any number of
 * other errors.
 */
function misfit(errors: readonly ValueError[]): number {
  return errors.filter(isConstant).length * 1_000 + errors.length
}

function isConstant({ type }: ValueError): boolean {
  return type === ValueErrorType.Literal
}

/**
 * If the members of a union differ by the constant of one property, and the value fits none of these constants: the
 * expectation for that property.
 */
function tagOf(members: readonly ValueError[][]): Expectation[] | undefined {
  const [first = [], ...others] = members.map((errors) => errors.filter(isConstant))
  const tag = first.find(({ path }) => others.every((errors) => errors.some((error) => error.path === path)))
  if (tag === undefined) return undefined
  const known = [first, ...others].flatMap((errors) => errors.filter(({ path }) => path === tag.path))
  return [
    { path: tag.path, expected: listed(known.flatMap(({ schema }) => namesOf(schema))), value: tag.value }
  ]
}

function firstOf(errors: Iterable<ValueError>, most: number): ValueError[] {
  const found: ValueError[] = []
  for (const error of errors) if (found.push(error) === most) break
  return found
}
