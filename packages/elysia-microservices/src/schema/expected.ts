/** Says in words what a schema expects, where TypeBox only says that it expects a union. */
import { type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { isTextOf } from './texts-of-urls.ts'

const KIND = Symbol.for('TypeBox.Kind')
/** Most members of a union that are named. */
const MOST_NAMED = 12

/** The expectation that an error is about: the words of the schema (`error`), else ours, else TypeBox's. */
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

/** The expectation that the value at a path does not meet. */
export interface Expectation {
  /** A JSON pointer. */
  readonly path: string
  readonly expected: string
  readonly value: unknown
}

/**
 * The expectations of an error; of a union, those of the member that the value was meant for, where that can be told.
 */
export function expectationsOf(error: ValueError, most: number): Expectation[] {
  const isOpen = error.type === ValueErrorType.Union && !('error' in error.schema)
  const meant = isOpen ? memberErrors(error, most) : undefined
  return meant ?? [{ path: error.path, expected: expectedBy(error), value: error.value }]
}

function memberErrors({ path, schema, errors }: ValueError, most: number): Expectation[] | undefined {
  const isText = (index: number) => isTextOf(schema, (schema['anyOf'] as object[])[index] as object)
  const members = errors.filter((_, index) => !isText(index)).map((member) => firstOf(member, most))
  // A member of another kind fails at the value itself.
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

/** Members whose constants fit are meant more likely than others, however many errors they have. */
function misfit(errors: readonly ValueError[]): number {
  return errors.filter(isConstant).length * 1_000 + errors.length
}

function isConstant({ type }: ValueError): boolean {
  return type === ValueErrorType.Literal
}

/** The property by which members of a union are told apart, if its value is that of none. */
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
