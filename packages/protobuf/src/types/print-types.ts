/**
 * Prints the types of a `.proto` in TypeScript: what arrives of each message, what may be sent, and the contract of each
 * service. They say what the codecs do with the same shapes.
 */
import type { DescEnum, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf'
import { fieldName, oneofName } from '../codec/names.ts'
import type { Shapes } from '../options/shapes.ts'
import { isImplicit, isOptional } from '../presence.ts'
import { TypeNames } from './type-names.ts'
import { arrivingScalar, sentScalar, specialType } from './value-types.ts'

/** The ending of the types of what may be sent. */
const INIT = 'Init'
/** The ending of contracts as handlers see them. */
const HANDLERS = 'Handlers'

/** Whether a value arrives or is sent. */
type Way = 'arriving' | 'sent'

/**
 * @param services the services whose contracts are printed, with all messages that they use
 * @param others messages that are printed although no service uses them
 */
export function printTypes(
  services: readonly DescService[],
  others: readonly DescMessage[],
  shapes: Shapes
): string {
  return new Printer(services, others, shapes).print()
}

class Printer {
  readonly #services: readonly DescService[]
  readonly #shapes: Shapes
  readonly #names: TypeNames
  /** Messages that arrive, and messages that are sent. */
  readonly #arriving = new Set<DescMessage>()
  readonly #sent = new Set<DescMessage>()
  readonly #enums = new Set<DescEnum>()

  constructor(services: readonly DescService[], others: readonly DescMessage[], shapes: Shapes) {
    this.#services = services
    this.#shapes = shapes
    for (const { methods } of services)
      for (const { input, output } of methods) {
        // Both ends write what the other one reads.
        for (const message of [input, output])
          for (const into of [this.#arriving, this.#sent]) this.#collect(message, into)
      }
    for (const message of others) this.#collect(message, this.#arriving)
    this.#names = new TypeNames(
      [...services, ...new Set([...this.#arriving, ...this.#sent]), ...this.#enums],
      [INIT, HANDLERS]
    )
  }

  #collect(message: DescMessage, into: Set<DescMessage>): void {
    if (into.has(message) || specialType(message, this.#shapes, 'arriving') !== undefined) return
    into.add(message)
    for (const field of message.fields) {
      if (field.message !== undefined) this.#collect(field.message, into)
      if (field.enum !== undefined) this.#enums.add(field.enum)
    }
  }

  print(): string {
    const sorted = <Type extends { readonly typeName: string }>(types: Iterable<Type>) =>
      [...types].sort((a, b) => (this.#names.of(a) < this.#names.of(b) ? -1 : 1))
    return [
      ...sorted(this.#services).map((service) => this.#contract(service)),
      ...sorted(this.#arriving).map((message) => this.#message(message, 'arriving')),
      ...sorted(this.#sent).map((message) => this.#message(message, 'sent')),
      ...(this.#shapes.enums === 'number' ? [] : sorted(this.#enums).map((one) => this.#enum(one)))
    ].join('\n\n')
  }

  /** The contract of a service, as its callers and as its handlers see it. */
  #contract(service: DescService): string {
    const name = this.#names.of(service)
    const interfaceOf = (own: string, side: 'callers' | 'handlers') => {
      const methods = service.methods.map((method) => `  ${this.#method(method, side)}`)
      return `export interface ${own} {\n${methods.join('\n')}\n}`
    }
    return [
      `/** The service \`${service.typeName}\` for its callers: \`connect<${name}>()\`. */`,
      interfaceOf(name, 'callers'),
      '',
      `/** The service \`${service.typeName}\` for its handlers: \`satisfies Implements<${name}${HANDLERS}>\`. */`,
      interfaceOf(name + HANDLERS, 'handlers')
    ].join('\n')
  }

  #method({ parent, name, methodKind, input, output }: DescMethod, side: 'callers' | 'handlers'): string {
    const [taken, given]: readonly [Way, Way] =
      side === 'callers' ? ['sent', 'arriving'] : ['arriving', 'sent']
    const data = this.#reference(input, taken)
    const answer = this.#reference(output, given)
    const takesStream = methodKind === 'client_streaming' || methodKind === 'bidi_streaming'
    const givesStream = methodKind === 'server_streaming' || methodKind === 'bidi_streaming'
    const parameter = takesStream ? `data: ${streamOf(data)}` : `data${isEmpty(input) ? '?' : ''}: ${data}`
    return `${JSON.stringify(`${parent.typeName}/${name}`)}(${parameter}): ${givesStream ? streamOf(answer) : answer}`
  }

  #message(message: DescMessage, way: Way): string {
    const single = message.members.filter((member) => member.kind === 'field')
    const groups = message.members.filter((member) => member.kind === 'oneof')
    const members = single.map((field) => `  ${this.#field(field, way)}\n`)
    const body = members.length === 0 ? '{}' : `{\n${members.join('')}}`
    const parts = [
      ...(groups.length > 0 && members.length === 0 ? [] : [body]),
      ...groups.map((one) => this.#oneof(one, way))
    ]
    const name = this.#names.of(message) + (way === 'sent' ? INIT : '')
    const about = `/** ${way === 'sent' ? 'A message that may be sent' : 'A message that has arrived'}: \`${message.typeName}\`. */\n`
    if (groups.length > 0) return `${about}export type ${name} = ${parts.join(' & ')}`
    return `${about}export ${body === '{}' ? `type ${name} = Record<string, never>` : `interface ${name} ${body}`}`
  }

  #field(field: DescField, way: Way): string {
    const name = property(fieldName(field, this.#shapes))
    const type = this.#type(field, way)
    if (way === 'sent') return `${name}?: ${type} | null | undefined`
    const { defaults } = this.#shapes
    if (field.fieldKind === 'list' || field.fieldKind === 'map')
      return `${name}${defaults === 'none' ? '?' : ''}: ${type}`
    const hasDefaults = defaults === 'all' || defaults === 'nulls'
    if (isImplicit(field)) return `${name}${hasDefaults ? '' : '?'}: ${type}`
    if (defaults !== 'nulls' || isOptional(field)) return `${name}?: ${type}`
    return `${name}: ${type}${field.fieldKind === 'message' ? ' | null' : ''}`
  }

  /** One of several fields, or none. */
  #oneof(oneof: DescOneof, way: Way): string {
    const names = oneof.fields.map((field) => fieldName(field, this.#shapes))
    const named = this.#shapes.oneofs === 'named' ? property(oneofName(oneof, this.#shapes)) : undefined
    const choices = oneof.fields.map((field, index) => {
      const others = names.flatMap((name, other) =>
        other === index ? [] : [`${property(name)}?: ${none(way)}`]
      )
      const own = `${property(names[index] as string)}: ${this.#type(field, way)}`
      const group =
        named === undefined ? [] : [`${named}${way === 'sent' ? '?' : ''}: ${JSON.stringify(names[index])}`]
      return `{ ${[own, ...others, ...group].join('; ')} }`
    })
    const nothing = [...names.map(property), ...(named === undefined ? [] : [named])].map(
      (name) => `${name}?: ${none(way)}`
    )
    return `(\n${[...choices, `{ ${nothing.join('; ')} }`].map((choice) => `  | ${choice}\n`).join('')})`
  }

  #type(field: DescField, way: Way): string {
    const one = this.#one(field, way)
    if (field.fieldKind === 'list')
      return way === 'sent' ? `readonly ${inBrackets(one)}[]` : `${inBrackets(one)}[]`
    if (field.fieldKind !== 'map') return one
    return way === 'sent' ? `{ readonly [key: string]: ${one} }` : `{ [key: string]: ${one} }`
  }

  #one(field: DescField, way: Way): string {
    if (field.enum !== undefined) return this.#enumType(field.enum, way)
    if (field.message !== undefined) return this.#reference(field.message, way)
    return way === 'sent' ? sentScalar(field) : arrivingScalar(field, this.#shapes)
  }

  #reference(message: DescMessage, way: Way): string {
    const special = specialType(message, this.#shapes, way)
    return special ?? this.#names.of(message) + (way === 'sent' ? INIT : '')
  }

  #enumType(one: DescEnum, way: Way): string {
    if (this.#shapes.enums === 'name')
      return way === 'sent' ? `${this.#names.of(one)} | number` : this.#names.of(one)
    return way === 'sent'
      ? `number | ${one.values.map(({ name }) => JSON.stringify(name)).join(' | ')}`
      : 'number'
  }

  #enum(one: DescEnum): string {
    const names = [...new Set(one.values.map(({ number }) => one.value[number]?.name))].map((name) =>
      JSON.stringify(name)
    )
    // A program with a newer file may send a value that this one has no name for.
    const all = one.open ? [...names, 'number'] : names
    return `/** The enum \`${one.typeName}\`${one.open ? '; a number is a value that this file does not have' : ''}. */\nexport type ${this.#names.of(one)} = ${all.join(' | ')}`
  }
}

function none(way: Way): string {
  return way === 'sent' ? 'null | undefined' : 'never'
}

function streamOf(type: string): string {
  return `AsyncIterable<${type}>`
}

function isEmpty({ fields }: DescMessage): boolean {
  return fields.length === 0
}

function inBrackets(type: string): string {
  return /[ |&]/.test(type) ? `(${type})` : type
}

function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}
