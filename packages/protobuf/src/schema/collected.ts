/** The messages and enums of one file, while its schemas are read. */
import type { EnumModel, MessageModel, Type } from './model.ts'

/** Collects the messages and enums of one file. */
export class Collected {
  readonly messages: MessageModel[] = []
  readonly enums: EnumModel[] = []
  /** Sentences about parts for which protobuf has no word. */
  readonly problems: string[] = []
  readonly #taken: Set<string>
  /** Types with a name of the user's, with the schema of each as text. */
  readonly #named = new Map<string, { readonly text: string; readonly type: Type }>()

  /** @param taken names that no message may have */
  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken)
  }

  /** A message that stands for a value. */
  wrapper(type: Type, isNullable: boolean, name: string): MessageModel {
    const inner = isNullable && isCollection(type) ? this.boxed(type, `${name}List`) : type
    const message = this.add({
      name: this.free(name),
      fields: [],
      isWrapper: true,
      reserved: { numbers: [], names: [] }
    })
    message.fields.push({
      property: 'value',
      name: 'value',
      jsonName: undefined,
      type: inner,
      isOptional: isNullable && hasImplicit(inner),
      isNullable,
      number: 0
    })
    return message
  }

  boxed(type: Type, name: string): Type {
    return { kind: 'message', message: this.wrapper(type, false, name) }
  }

  add(message: MessageModel): MessageModel {
    this.messages.push(message)
    return message
  }

  /** A name that nothing else has. */
  free(name: string): string {
    let found = name
    for (let n = 2; this.#taken.has(found); n++) found = `${name}${n}`
    this.#taken.add(found)
    return found
  }

  /** A type under a name of the user's: the same for all schemas that are the same. */
  shared(name: string, text: string, path: string, make: (name: string) => Type): Type {
    const known = this.#named.get(name)
    if (known !== undefined) {
      if (known.text !== text)
        this.problems.push(
          `${path} is called ${name}, as another type is that differs; give one of them another name`
        )
      return known.type
    }
    const type = make(this.free(name))
    this.#named.set(name, { text, type })
    return type
  }
}

/** Whether a value is a list or a map, which neither can be in another one nor be `null`. */
export function isCollection(type: Type): boolean {
  return type.kind === 'list' || type.kind === 'map'
}

/** Whether a field of a type has no presence unless it is `optional`. */
export function hasImplicit(type: Type): boolean {
  return type.kind === 'scalar' || type.kind === 'enum'
}
