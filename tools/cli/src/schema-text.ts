/**
 * Writes contracts as TypeScript, from the schemas of a description. The description is not trusted: every name and
 * value is written as JSON, and parts that are not understood become `unknown`.
 */
import type { Described } from './described.ts'

/** Largest depth of nested schemas; deeper schemas become `unknown`. */
const MAX_DEPTH = 32
/**
 * Largest number of characters of a type; a longer type becomes `unknown`. References can make the type of a short
 * schema endless.
 */
const MAX_LENGTH = 100_000

type Schema = Readonly<Record<string, unknown>>

/** The types of JSON Schema, and types of TypeBox that JSON does not have. */
const BY_TYPE: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  undefined: 'undefined',
  bigint: 'bigint',
  Date: 'Date',
  Uint8Array: 'Uint8Array'
}

/** The TypeScript type of a schema. */
export function typeText(schema: unknown): string {
  const text = new SchemaText(schema).of(schema, 0)
  return text.length > MAX_LENGTH ? 'unknown' : text
}

class SchemaText {
  readonly #root: unknown
  #length = 0

  constructor(root: unknown) {
    this.#root = root
  }

  of(schema: unknown, depth: number): string {
    const text = this.#of(schema, depth)
    this.#length += text.length
    return text
  }

  #of(schema: unknown, depth: number): string {
    if (schema === false) return 'never'
    if (!isSchema(schema) || depth > MAX_DEPTH || this.#length > MAX_LENGTH) return 'unknown'
    const { $ref, allOf, anyOf, oneOf, enum: values, const: value, type } = schema
    const next = depth + 1
    if (typeof $ref === 'string') return this.of(this.#at($ref), next)
    if ('const' in schema) return literal(value)
    if (Array.isArray(values)) return union(values.map(literal))
    const either = anyOf ?? oneOf
    if (Array.isArray(either)) return union(either.map((each) => this.of(each, next)))
    if (Array.isArray(allOf)) return all(allOf.map((each) => this.of(each, next)))
    if (Array.isArray(type)) return union(type.map((each) => this.of({ ...schema, type: each }, next)))
    const text =
      type === 'object' || 'properties' in schema
        ? this.#object(schema, next)
        : type === 'array'
          ? this.#list(schema, next)
          : typeof type === 'string' && Object.hasOwn(BY_TYPE, type)
            ? (BY_TYPE[type] as string)
            : 'unknown'
    return schema['nullable'] === true ? union([text, 'null']) : text
  }

  #object(schema: Schema, depth: number): string {
    const { required, additionalProperties: others, patternProperties } = schema
    const needed = new Set(Array.isArray(required) ? required : [])
    const fields = Object.entries(schemasIn(schema['properties'])).map(
      ([name, field]) => `${JSON.stringify(name)}${needed.has(name) ? '' : '?'}: ${this.of(field, depth)}`
    )
    if (fields.length > 0) return `{ ${fields.join('; ')} }`
    const rest = [...Object.values(schemasIn(patternProperties)), ...(isSchema(others) ? [others] : [])]
    if (rest.length > 0) return `Record<string, ${union(rest.map((each) => this.of(each, depth)))}>`
    return others === false ? 'Record<string, never>' : 'Record<string, unknown>'
  }

  #list({ items, prefixItems }: Schema, depth: number): string {
    const tuple = Array.isArray(prefixItems) ? prefixItems : items
    if (Array.isArray(tuple)) return `[${tuple.map((each) => this.of(each, depth)).join(', ')}]`
    return items === undefined ? 'unknown[]' : `(${this.of(items, depth)})[]`
  }

  /** The schema to which a reference within the root schema leads. */
  #at(reference: string): unknown {
    const [start, ...path] = reference.split('/')
    if (start !== '#') return byId(this.#root, reference)
    let at: unknown = this.#root
    for (const part of path) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      at = isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined
    }
    return at
  }
}

/** TypeBox's form of references: the definition has an `$id`, which is also the text of the reference. */
function byId(root: unknown, id: string): unknown {
  if (!isSchema(root)) return undefined
  return [root, ...Object.values(schemasIn(root['$defs']))].find(
    (each) => isSchema(each) && each['$id'] === id
  )
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function schemasIn(value: unknown): Schema {
  return isSchema(value) ? value : {}
}

function literal(value: unknown): string {
  return value === null || typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value)
    ? JSON.stringify(value)
    : 'unknown'
}

function union(types: readonly string[]): string {
  const all = [...new Set(types)]
  if (all.includes('unknown')) return 'unknown'
  return all.length < 2 ? (all[0] ?? 'never') : all.map(inBrackets).join(' | ')
}

function all(types: readonly string[]): string {
  const all = [...new Set(types)].filter((type) => type !== 'unknown')
  return all.length < 2 ? (all[0] ?? 'unknown') : all.map(inBrackets).join(' & ')
}

function inBrackets(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type
}

/** A contract, and the patterns that cannot be written as a type. */
export interface Contract {
  readonly text: string
  readonly left: readonly string[]
}

/** Makes the contract of a service from its description, whose values have not been checked. */
export function contractOf({ name, handlers }: Pick<Described, 'name' | 'handlers'>): Contract {
  const entries = { exact: new Map<string, string[]>(), wildcard: new Map<string, string[]>() }
  const left: string[] = []
  for (const { kind, patterns, data, headers, response, streams } of handlers)
    for (const { kind: form, pattern } of patterns) {
      const key = form === 'exact' || form === 'wildcard' ? keyOf(form, pattern) : undefined
      if (key === undefined) left.push(pattern)
      else {
        const all = entries[form as 'exact' | 'wildcard']
        all.set(key, [...(all.get(key) ?? []), typeOf(kind, { data, headers, response, streams })])
      }
    }
  const bodies = Object.values(entries).map((all) => {
    const lines = [...all].map(([key, types]) => `  ${key}: ${both(types)}\n`)
    return lines.length === 0 ? '{}' : `{\n${lines.join('')}}`
  })
  return { text: declaration(interfaceName(name), bodies as [string, string]), left }
}

/** The type that fits all handlers of a pattern. */
function both(types: readonly string[]): string {
  const all = [...new Set(types)]
  return all.length === 1 ? (all[0] as string) : all.map((type) => `(${type})`).join(' & ')
}

/**
 * The declaration of a contract, with an interface for single patterns and another one for patterns with wildcards
 * (`orders.*`). They are separate, because the type of a single pattern may differ from that of the wildcard
 * pattern, which is impossible within one interface.
 */
export function declaration(name: string, [ones, families]: readonly [string, string]): string {
  return families === '{}'
    ? `export interface ${name} ${ones}`
    : `export type ${name} = ${ones} & ${families}`
}

interface Schemas {
  readonly data: unknown
  readonly headers: unknown
  readonly response: unknown
  readonly streams: unknown
}

function typeOf(kind: 'message' | 'event', { data, headers, response, streams }: Schemas): string {
  const isStream = Object(streams) as { readonly data?: unknown; readonly answer?: unknown }
  const taken = isStream.data === true ? `AsyncIterable<${typeText(data)}>` : typeText(data)
  if (kind === 'event')
    return `{ readonly '~event': ${taken}${headers === undefined ? '' : `; readonly '~headers': ${typeText(headers)}`} }`
  const isOptional =
    (data === undefined && isStream.data !== true) || taken.split(' | ').includes('undefined')
  const parameters =
    headers === undefined
      ? `data${isOptional ? '?' : ''}: ${taken}`
      : `data: ${taken}, headers: ${typeText(headers)}`
  return `(${parameters}) => ${answerText(typeText(response), isStream.answer)}`
}

/** @param isStream not a boolean if the description does not say it: then the type allows both */
function answerText(value: string, isStream: unknown): string {
  if (isStream === true) return `AsyncIterable<${value}>`
  return isStream === false || value === 'unknown' ? value : `${inBrackets(value)} | AsyncIterable<${value}>`
}

/** The key of a pattern; `undefined` for a pattern that matches all names. */
function keyOf(form: 'exact' | 'wildcard', pattern: string): string | undefined {
  if (form === 'exact') return JSON.stringify(pattern)
  const parts = pattern.split('.').map((part) => (part === '*' || part === '>' ? undefined : part))
  if (parts.every((part) => part === undefined)) return undefined
  const text = parts.map((part) => part?.replaceAll(/[\\`$]/g, '\\$&') ?? `\${string}`).join('.')
  return `[name: \`${text}\`]`
}

/** Turns the name of a service or file into the name of an interface. */
export function interfaceName(text: string): string {
  const words = text.split(/[^a-zA-Z0-9]+/).filter((word) => word !== '')
  const name = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join('')
  return /^[A-Z]/.test(name) ? name : `Service${name}`
}
