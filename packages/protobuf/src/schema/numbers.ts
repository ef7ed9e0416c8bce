/**
 * The numbers of fields and enum values, which a file keeps: a program with an older `.proto` reads by number, so a number
 * never gets another meaning.
 */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { EnumModel, FileModel, MessageModel, Type } from './model.ts'

/** Numbers that protobuf keeps for itself. */
const RESERVED = [19_000, 19_999] as const
/** Written into the file, for people who open it. */
const ABOUT =
  'The numbers of the fields in the .proto beside this file. Commit it: a number is never used again, not even that of a removed field.'

/** A field with its number. `type` is there to notice a change after which old bytes would be read wrongly. */
interface Kept {
  readonly number: number
  readonly type?: string
}

/** The content of a file with numbers; it is JSON. */
export interface ProtoNumbers {
  readonly about?: string
  readonly package: string
  readonly service: string
  /** Fields by the name of their message and their own. */
  readonly messages: Readonly<Record<string, Readonly<Record<string, Kept>>>>
  /** Values of enums by the name of the enum and their own. */
  readonly enums: Readonly<Record<string, Readonly<Record<string, Kept>>>>
  /** Numbers of fields that have another type now, by the name of their message. */
  readonly retired: Readonly<Record<string, readonly number[]>>
}

/**
 * Checks the content of a file with numbers.
 * @throws {OptionError} it is none
 */
export function checkNumbers(given: unknown): ProtoNumbers {
  const { package: scope, service, messages, enums } = Object(given) as Partial<ProtoNumbers>
  const isTable = (table: unknown) =>
    isRecord(table) && Object.values(table).every((one) => isRecord(one) && Object.values(one).every(isKept))
  if (typeof scope !== 'string' || typeof service !== 'string' || !isTable(messages) || !isTable(enums))
    throw new OptionError(
      'numbers',
      'numbers must be what an earlier .proto of this service was written with: { package, service, messages, enums }'
    )
  return given as ProtoNumbers
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isKept(value: unknown): value is Kept {
  const { number } = Object(value) as Partial<Kept>
  return Number.isInteger(number) && (number as number) > 0
}

/** Gives all fields and values of a file their numbers, and says which are reserved. Returns the numbers to keep. */
export function numbered(file: FileModel, before: ProtoNumbers | undefined): ProtoNumbers {
  const messages: Record<string, Record<string, Kept>> = { ...before?.messages }
  const enums: Record<string, Record<string, Kept>> = { ...before?.enums }
  const retired: Record<string, readonly number[]> = { ...before?.retired }
  for (const message of file.messages) {
    const { kept, gone } = numberFields(
      message,
      own(messages, message.name),
      own(retired, message.name) ?? []
    )
    messages[message.name] = kept
    if (gone.length > 0) retired[message.name] = gone
  }
  for (const one of file.enums) enums[one.name] = numberValues(one, own(enums, one.name) ?? {})
  return {
    about: ABOUT,
    package: file.package,
    service: file.service,
    messages: sorted(messages),
    enums: sorted(enums),
    retired: sorted(retired)
  }
}

function own<Value>(table: Record<string, Value>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function sorted<Value>(table: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function numberFields(message: MessageModel, before: Record<string, Kept> = {}, retired: readonly number[]) {
  const kept: Record<string, Kept> = { ...before }
  const gone = new Set(retired)
  const used = new Set([...Object.values(before).map(({ number }) => number), ...gone])
  for (const field of message.fields) {
    const type = typeText(field.type)
    const known = own(before, field.name)
    if (known !== undefined && known.type !== undefined && known.type !== type) gone.add(known.number)
    field.number = known !== undefined && !gone.has(known.number) ? known.number : next(used)
    kept[field.name] = { number: field.number, type }
  }
  message.fields.sort((a, b) => a.number - b.number)
  const names = new Set(message.fields.map(({ name }) => name))
  const removed = Object.entries(kept).filter(([name]) => !names.has(name))
  message.reserved = {
    numbers: [...removed.map(([, { number }]) => number), ...gone].sort((a, b) => a - b),
    names: removed.map(([name]) => name).sort()
  }
  return { kept: byNumber(kept), gone: [...gone].sort((a, b) => a - b) }
}

function numberValues(one: EnumModel, before: Record<string, Kept>): Record<string, Kept> {
  const kept: Record<string, Kept> = { ...before }
  const used = new Set(Object.values(before).map(({ number }) => number))
  for (const value of one.values) {
    value.number = own(before, value.name)?.number ?? next(used)
    kept[value.name] = { number: value.number }
  }
  one.values.sort((a, b) => a.number - b.number)
  const names = new Set(one.values.map(({ name }) => name))
  const removed = Object.entries(kept).filter(([name]) => !names.has(name))
  one.reserved = {
    numbers: removed.map(([, { number }]) => number).sort((a, b) => a - b),
    names: removed.map(([name]) => name).sort()
  }
  return byNumber(kept)
}

function byNumber(kept: Readonly<Record<string, Kept>>): Record<string, Kept> {
  return Object.fromEntries(Object.entries(kept).sort(([, a], [, b]) => a.number - b.number))
}

/** The number after the largest that was ever used. */
function next(used: Set<number>): number {
  let number = Math.max(0, ...used) + 1
  if (number >= RESERVED[0] && number <= RESERVED[1]) number = RESERVED[1] + 1
  used.add(number)
  return number
}

/** A type as the file has it. Two fields of one text can read each other's bytes. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case 'scalar':
    case 'google':
      return type.name
    case 'message':
      return type.message.name
    case 'enum':
      return type.enum.name
    case 'list':
      return `repeated ${typeText(type.item)}`
    case 'map':
      return `map<string, ${typeText(type.item)}>`
  }
}
