/** A form made from a JSON Schema: its fields, the text in them, and the value that is sent. */
import type { Schema } from '../protocol.ts'

/** A field of the form. Schemas without a suitable field get a text field for JSON. */
export type Field =
  | { readonly kind: 'text'; readonly hint: string }
  | { readonly kind: 'number'; readonly hint: string }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly unknown[] }
  | { readonly kind: 'group'; readonly members: readonly Member[] }
  | { readonly kind: 'list'; readonly item: Field }
  | { readonly kind: 'json'; readonly hint: string }

/** A field for one property of an object. */
export interface Member {
  readonly name: string
  readonly isRequired: boolean
  readonly field: Field
}

/** The input of a field: a text, or a list with the drafts of an object's members or of a list's items. */
export type Draft = string | readonly Draft[]

/** The value of a draft, or the reason why the draft is invalid. */
export type Read = { readonly value: unknown } | { readonly wrong: string; readonly at: string }

const MAX_DEPTH = 4
const MAX_MEMBERS = 60
const MAX_OPTIONS = 100

/** The field for a schema; without a schema a field for any JSON. */
export function fieldOf(schema: unknown, depth = 0): Field {
  const { type, properties, items, required, anyOf } = Object(schema) as Schema
  const options = optionsOf(schema)
  if (options !== undefined) return { kind: 'choice', options }
  const typed = Array.isArray(anyOf) ? anyOf.find((each) => isTextOr(anyOf, Object(each).type)) : undefined
  if (typed !== undefined) return fieldOf(typed, depth)
  if (type === 'string') return { kind: 'text', hint: hintOf(schema) }
  if (type === 'number' || type === 'integer') return { kind: 'number', hint: hintOf(schema) }
  if (type === 'boolean') return { kind: 'boolean' }
  const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
  if (type === 'object' && isObject && depth < MAX_DEPTH) {
    const entries = Object.entries(properties)
    if (entries.length > 0 && entries.length <= MAX_MEMBERS)
      return {
        kind: 'group',
        members: entries.map(([name, member]) => ({
          name,
          isRequired: Array.isArray(required) && required.includes(name),
          field: fieldOf(member, depth + 1)
        }))
      }
  }
  if (type === 'array' && isPlain(items) && depth < MAX_DEPTH)
    return { kind: 'list', item: fieldOf(items, depth + 1) }
  return { kind: 'json', hint: typeof type === 'string' ? type : 'JSON' }
}

/**
 * Whether a schema allows a number or boolean, or a text of it: Elysia's `t.Integer()` and other types have this
 * form.
 */
function isTextOr(anyOf: readonly unknown[], type: unknown): boolean {
  const types = anyOf.map((each) => (Object(each) as Schema)['type'])
  return (
    types.length === 2 && types.includes('string') && ['number', 'integer', 'boolean'].includes(String(type))
  )
}

/** The values of a schema that lists all its values. */
function optionsOf(schema: unknown): readonly unknown[] | undefined {
  const { enum: listed, const: only, anyOf } = Object(schema) as Schema
  const all = Array.isArray(listed)
    ? listed
    : only !== undefined
      ? [only]
      : Array.isArray(anyOf) && anyOf.length > 0 && anyOf.every((each) => isPlain(each) && 'const' in each)
        ? anyOf.map((each) => (each as Schema)['const'])
        : undefined
  return all !== undefined && all.length > 0 && all.length <= MAX_OPTIONS ? all : undefined
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const RULES: readonly (readonly [string, string])[] = [
  ['format', ''],
  ['pattern', 'matches '],
  ['minimum', 'at least '],
  ['exclusiveMinimum', 'more than '],
  ['maximum', 'at most '],
  ['exclusiveMaximum', 'less than '],
  ['minLength', 'characters at least '],
  ['maxLength', 'characters at most ']
]

/** The rules of a schema for a text or number, in a few words. */
function hintOf(schema: unknown): string {
  const all = Object(schema) as Schema
  const words = RULES.flatMap(([rule, word]) => {
    const value = all[rule]
    return typeof value === 'string' || typeof value === 'number' ? [`${word}${value}`.slice(0, 80)] : []
  })
  return [...(all['type'] === 'integer' ? ['whole number'] : []), ...words].join(', ')
}

/** The empty draft of a field. */
export function emptyDraft(field: Field): Draft {
  if (field.kind === 'group') return field.members.map(({ field }) => emptyDraft(field))
  return field.kind === 'list' ? [] : ''
}

/**
 * The value of a draft. Optional fields that are empty are left out.
 * @param at the path in the data, for messages
 */
export function readDraft(field: Field, draft: Draft, isRequired: boolean, at: string): Read {
  if (field.kind === 'group') return readGroup(field.members, draft as readonly Draft[], isRequired, at)
  if (field.kind === 'list') return readList(field.item, draft as readonly Draft[], isRequired, at)
  const text = draft as string
  if (text === '' && field.kind === 'text') return { value: isRequired ? '' : undefined }
  if (text.trim() === '') return isRequired ? { wrong: 'needs a value', at } : { value: undefined }
  if (field.kind === 'text') return { value: text }
  if (field.kind === 'boolean') return { value: text === 'true' }
  if (field.kind === 'choice') return { value: field.options[Number(text)] }
  if (field.kind === 'number') {
    const number = Number(text)
    return Number.isFinite(number) ? { value: number } : { wrong: `${text} is no number`, at }
  }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { wrong: `is not JSON: ${(error as Error).message}`, at }
  }
}

function readGroup(
  members: readonly Member[],
  drafts: readonly Draft[],
  isRequired: boolean,
  at: string
): Read {
  const isUntouched = drafts.every((draft, index) => isEmpty(draft, (members[index] as Member).field))
  if (isUntouched && !isRequired) return { value: undefined }
  const entries: [string, unknown][] = []
  for (const [index, { name, field, isRequired: needed }] of members.entries()) {
    const read = readDraft(field, drafts[index] as Draft, needed, at === '' ? name : `${at}.${name}`)
    if ('wrong' in read) return read
    if (read.value !== undefined) entries.push([name, read.value])
  }
  return { value: Object.fromEntries(entries) }
}

function readList(item: Field, drafts: readonly Draft[], isRequired: boolean, at: string): Read {
  if (drafts.length === 0) return { value: isRequired ? [] : undefined }
  const values: unknown[] = []
  for (const [index, draft] of drafts.entries()) {
    const read = readDraft(item, draft, true, `${at}[${index}]`)
    if ('wrong' in read) return read
    values.push(read.value)
  }
  return { value: values }
}

function isEmpty(draft: Draft, field: Field): boolean {
  if (typeof draft === 'string') return draft === ''
  if (field.kind === 'list') return draft.length === 0
  return (
    field.kind === 'group' &&
    draft.every((each, index) => isEmpty(each, (field.members[index] as Member).field))
  )
}
