/** Reads a JSON Schema as types of protobuf. Each part that protobuf has no word for becomes a sentence with its path. */

import { fieldNames, pascalCase, valueName, zeroName } from '../words.ts'
import { type Collected, hasImplicit, isCollection } from './collected.ts'
import { isInt32, isNumber, isSmall, isTime, merged, type Schema } from './json-schema.ts'
import type { EnumModel, FieldModel, Type } from './model.ts'

/** A type, and whether `null` is allowed beside it. */
export interface Found {
  readonly type: Type
  readonly isNullable: boolean
}

/** Any JSON: what stands for a schema that says nothing. */
export const ANY: Type = {
  kind: 'google',
  name: 'google.protobuf.Value',
  file: 'google/protobuf/struct.proto'
}
export const EMPTY: Type = {
  kind: 'google',
  name: 'google.protobuf.Empty',
  file: 'google/protobuf/empty.proto'
}
const TIME: Type = {
  kind: 'google',
  name: 'google.protobuf.Timestamp',
  file: 'google/protobuf/timestamp.proto'
}

/** Names that TypeBox gives to types that contain themselves, by a counter of the process. */
const COUNTED = /^T\d+$/
/** Types of which several schemas of a union are the same in protobuf. */
const SIMPLE: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])
const NO_WORD = 'for which protobuf has no word'

/** Reads one schema, to which its references are relative. */
export class Reading {
  readonly #into: Collected
  readonly #root: Schema
  readonly #references = new Map<string, Found>()
  /** The references whose schemas are being read. */
  readonly #within = new Set<string>()
  /** The reference to the message that is read next. */
  #opening: string | undefined

  constructor(into: Collected, root: Schema) {
    this.#into = into
    this.#root = root
  }

  /** Whether a schema becomes a message with a field for each property. */
  isObject(schema: Schema): boolean {
    const { allOf, properties, type } = this.#resolved(schema)
    if (allOf !== undefined) return allOf.every((one) => this.isObject(one))
    return properties !== undefined && (type === undefined || type === 'object')
  }

  /** @param name the name of the type, if it needs one and has none */
  find(schema: Schema, path: string, name: string): Found {
    if (schema.$ref !== undefined) return this.#referred(schema.$ref, path, name)
    const union = schema.anyOf ?? schema.oneOf
    if (union !== undefined) return this.#union(union, path, name, schema.title)
    if (schema.allOf !== undefined) return this.#all(schema.allOf, path, name)
    if (schema.nullable === true)
      return { ...this.find({ ...schema, nullable: false }, path, name), isNullable: true }
    if (Array.isArray(schema.type))
      return this.#union(
        (schema.type as readonly string[]).map((type) => ({ ...schema, type })),
        path,
        name
      )
    return { type: this.#plain(schema, path, name), isNullable: schema.type === 'null' }
  }

  #plain(schema: Schema, path: string, name: string): Type {
    if (schema.const !== undefined) return this.#literals([schema.const], path, name, schema.title)
    if (schema.enum !== undefined) return this.#literals(schema.enum, path, name, schema.title)
    switch (schema.type) {
      case 'string':
        return schema.format === 'date-time' ? TIME : { kind: 'scalar', name: 'string' }
      case 'boolean':
        return { kind: 'scalar', name: 'bool' }
      case 'number':
        return { kind: 'scalar', name: 'double' }
      case 'integer':
        return { kind: 'scalar', name: isSmall(schema) ? 'int32' : 'int64' }
      case 'null':
        return EMPTY
      case 'array':
        return this.#array(schema, path, name)
      case 'object':
        return this.#object(schema, path, name)
    }
    if (schema.properties !== undefined) return this.#object(schema, path, name)
    return ANY
  }

  #array(schema: Schema, path: string, name: string): Type {
    if (Array.isArray(schema.items) || schema.prefixItems !== undefined)
      return this.#problem(path, `is a tuple, ${NO_WORD}; make it an object`)
    const { type, isNullable } = this.find((schema.items ?? {}) as Schema, `${path}[]`, name)
    if (isNullable)
      return this.#problem(
        `${path}[]`,
        `may be null, but a list of protobuf has no null; leave such items out`
      )
    return { kind: 'list', item: isCollection(type) ? this.#into.boxed(type, `${name}Items`) : type }
  }

  #object(schema: Schema, path: string, name: string): Type {
    const { properties, patternProperties, additionalProperties } = schema
    const entries = Object.entries(properties ?? {})
    const others = [
      ...Object.values(patternProperties ?? {}),
      ...(typeof additionalProperties === 'object' ? [additionalProperties] : [])
    ]
    if (others.length > 0) {
      if (entries.length > 0)
        return this.#problem(
          path,
          `has properties with names and others, ${NO_WORD}; put the others into a property of their own`
        )
      if (others.length > 1)
        return this.#problem(path, `has several kinds of values, ${NO_WORD}; use one kind`)
      return this.#map(others[0] as Schema, path, name)
    }
    const { title, $id } = schema
    const given = [title, $id].find(
      (one) => one !== undefined && pascalCase(one) !== '' && !COUNTED.test(one)
    )
    if (given === undefined) return this.#fields(schema, path, this.#into.free(name))
    const { title: _title, $id: _id, ...text } = schema
    return this.#into.shared(pascalCase(given), JSON.stringify(text), path, (own) =>
      this.#fields(schema, path, own)
    )
  }

  #map(item: Schema, path: string, name: string): Type {
    const { type, isNullable } = this.find(item, `${path}{}`, `${name}Entry`)
    if (isNullable)
      return this.#problem(
        `${path}{}`,
        'may be null, but a map of protobuf has no null; leave such entries out'
      )
    return { kind: 'map', item: isCollection(type) ? this.#into.boxed(type, `${name}Items`) : type }
  }

  #fields({ properties = {}, required = [] }: Schema, path: string, name: string): Type {
    const message = this.#into.add({
      name,
      fields: [],
      isWrapper: false,
      reserved: { numbers: [], names: [] }
    })
    if (this.#opening !== undefined)
      this.#references.set(this.#opening, { type: { kind: 'message', message }, isNullable: false })
    this.#opening = undefined
    const taken = new Set<string>()
    for (const [property, schema] of Object.entries(properties)) {
      const names = fieldNames(property, taken)
      taken.add(names.name)
      message.fields.push(
        this.#field(schema, property, names, required.includes(property), `${path}.${property}`, name)
      )
    }
    return { kind: 'message', message }
  }

  #field(
    schema: Schema,
    property: string,
    names: Pick<FieldModel, 'name' | 'jsonName'>,
    isRequired: boolean,
    path: string,
    within: string
  ): FieldModel {
    const own = `${within}${pascalCase(property) || 'Field'}`
    const { type, isNullable } = this.find(schema, path, own)
    const boxed = isNullable && isCollection(type) ? this.#into.boxed(type, own) : type
    return {
      property,
      ...names,
      type: boxed,
      isOptional: (isNullable || !isRequired) && hasImplicit(boxed),
      // Of a property that may also be missing, nobody could say which of both it was.
      isNullable: isNullable && isRequired,
      number: 0
    }
  }

  #union(members: readonly Schema[], path: string, name: string, title?: string): Found {
    const flat = members.flatMap((member) => this.#flat(member))
    const some = flat.filter((member) => member.type !== 'null')
    const isNullable = some.length < flat.length
    if (some.length === 0) return { type: EMPTY, isNullable: true }
    if (some.length === 1) {
      const found = this.find(some[0] as Schema, path, name)
      return { type: found.type, isNullable: isNullable || found.isNullable }
    }
    const literals = some.flatMap((one) => one.enum ?? (one.const === undefined ? [undefined] : [one.const]))
    if (!literals.includes(undefined))
      return { type: this.#literals(literals, path, name, title), isNullable }
    // `t.Date()` is a date or its text or its milliseconds.
    if (some.some(({ format }) => format === 'date-time') && some.every(isTime))
      return { type: TIME, isNullable }
    if (some.some((one) => Object.keys(one).length === 0)) return { type: ANY, isNullable: false }
    const types = new Set(
      some.map(({ type }) => (type === 'integer' && some.some(isNumber) ? 'number' : type))
    )
    if (types.size === 1 && typeof some[0]?.type === 'string' && SIMPLE.has(some[0].type))
      return { type: this.#plain({ type: [...types][0] as string }, path, name), isNullable }
    const named = [...types].map((type) => type ?? 'another type').join(' or ')
    return {
      type: this.#problem(
        path,
        `is ${types.size === 1 ? `one of several types (${named})` : named}, ${NO_WORD}; use one type, or t.Any() for any JSON`
      ),
      isNullable
    }
  }

  /** The members of unions within a union. */
  #flat(given: Schema): Schema[] {
    const resolved = this.#resolved(given)
    const inner = resolved.anyOf ?? resolved.oneOf
    if (inner !== undefined) return inner.flatMap((one) => this.#flat(one))
    // A reference to an object stays one, because the object may contain itself.
    const schema = this.isObject(resolved) ? given : resolved
    return Array.isArray(schema.type) ? schema.type.map((type: string) => ({ ...schema, type })) : [schema]
  }

  #literals(values: readonly unknown[], path: string, name: string, title: string | undefined): Type {
    const all = [...new Set(values)]
    if (all.every((value) => typeof value === 'boolean')) return { kind: 'scalar', name: 'bool' }
    if (all.every((value) => typeof value === 'number'))
      return { kind: 'scalar', name: all.every((one) => isInt32(one as number)) ? 'int32' : 'double' }
    if (!all.every((value) => typeof value === 'string'))
      return this.#problem(path, `has values of different types, ${NO_WORD}; use one type`)
    const make = (own: string): Type => {
      const names = all.map((literal) => ({
        literal: literal as string,
        name: valueName(own, literal as string),
        number: 0
      }))
      const twice = names.find(
        (one, index) =>
          names.findIndex((other) => other.name === one.name) !== index || one.name === zeroName(own)
      )
      if (twice !== undefined)
        return this.#problem(
          path,
          `has the value '${twice.literal}', whose name ${twice.name} is taken; choose values that differ in letters and digits`
        )
      const model: EnumModel = { name: own, values: names, reserved: { numbers: [], names: [] } }
      this.#into.enums.push(model)
      return { kind: 'enum', enum: model }
    }
    return title === undefined || pascalCase(title) === ''
      ? make(this.#into.free(name))
      : this.#into.shared(pascalCase(title), JSON.stringify(all), path, make)
  }

  #all(members: readonly Schema[], path: string, name: string): Found {
    const some = members.map((one) => this.#resolved(one)).filter((one) => Object.keys(one).length > 0)
    if (some.length === 0) return { type: ANY, isNullable: false }
    if (some.length === 1) return this.find(some[0] as Schema, path, name)
    const isObject = (one: Schema) => one.type === 'object' || one.properties !== undefined
    if (some.every(isObject) && some.every((one) => one.patternProperties === undefined))
      return this.find(merged(some), path, name)
    if (new Set(some.map(({ type }) => type)).size === 1 && some.every((one) => one.anyOf === undefined))
      return this.find(Object.assign({}, ...some) as Schema, path, name)
    return {
      type: this.#problem(path, `must be several types at once, ${NO_WORD}; write it as one object`),
      isNullable: false
    }
  }

  #referred(reference: string, path: string, name: string): Found {
    const known = this.#references.get(reference)
    if (known !== undefined) return known
    const schema = this.#at(reference)
    if (schema === undefined) return { type: ANY, isNullable: false }
    if (this.#within.has(reference))
      return {
        type: this.#problem(path, `contains itself as a list or a union, ${NO_WORD}; put it into an object`),
        isNullable: false
      }
    this.#within.add(reference)
    const key = reference.split('/').at(-1) ?? ''
    const own = COUNTED.test(key) || key === '#' || pascalCase(key) === '' ? {} : { $id: key }
    // Within itself a message is known before it is read to its end.
    if (this.isObject(schema) && schema.allOf === undefined) this.#opening = reference
    const found = this.find({ ...own, ...schema } as Schema, path, name)
    this.#within.delete(reference)
    this.#references.set(reference, found)
    return found
  }

  #resolved(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : (this.#at(schema.$ref) ?? {})
  }

  /** The schema to which a reference leads. */
  #at(reference: string): Schema | undefined {
    const [start, ...steps] = reference.split('/')
    if (start !== '#') return undefined
    let at: unknown = this.#root
    for (const step of steps) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      at =
        typeof at === 'object' && at !== null && Object.hasOwn(at, name)
          ? (at as Record<string, unknown>)[name]
          : undefined
    }
    return at as Schema | undefined
  }

  #problem(path: string, sentence: string): Type {
    this.#into.problems.push(`${path} ${sentence}`)
    return ANY
  }
}
