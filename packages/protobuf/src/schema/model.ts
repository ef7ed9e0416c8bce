/** A `.proto` file before it is text or descriptors. */

/** A scalar of protobuf, as schemas need them. */
export type Scalar = 'double' | 'int32' | 'int64' | 'bool' | 'string'

/** The type of a value. */
export type Type =
  | { readonly kind: 'scalar'; readonly name: Scalar }
  /** One of Google's types, by its full name. */
  | { readonly kind: 'google'; readonly name: string; readonly file: string }
  | { readonly kind: 'message'; readonly message: MessageModel }
  | { readonly kind: 'enum'; readonly enum: EnumModel }
  | { readonly kind: 'list'; readonly item: Type }
  | { readonly kind: 'map'; readonly item: Type }

export interface FieldModel {
  /** The name in the schema. */
  readonly property: string
  /** The name in the file. */
  readonly name: string
  /** The option `json_name`, if the property cannot be derived from the name. */
  readonly jsonName: string | undefined
  readonly type: Type
  /** Whether the file says `optional`. */
  readonly isOptional: boolean
  /** Whether the field is `null` when it is missing. */
  readonly isNullable: boolean
  number: number
}

/** A message. None is within another one, so a name is found from everywhere. */
export interface MessageModel {
  readonly name: string
  readonly fields: FieldModel[]
  /** Whether the message stands for its only field `value`. */
  readonly isWrapper: boolean
  reserved: Reserved
}

export interface EnumModel {
  readonly name: string
  readonly values: { readonly literal: string; readonly name: string; number: number }[]
  reserved: Reserved
}

/** Numbers and names that were used once. */
export interface Reserved {
  readonly numbers: readonly number[]
  readonly names: readonly string[]
}

export interface MethodModel {
  readonly name: string
  readonly pattern: string
  readonly kind: 'message' | 'event'
  readonly input: Type
  readonly output: Type
  readonly clientStreams: boolean
  readonly serverStreams: boolean
  readonly isIdempotent: boolean
}

export interface FileModel {
  readonly package: string
  readonly service: string
  readonly methods: readonly MethodModel[]
  readonly messages: readonly MessageModel[]
  readonly enums: readonly EnumModel[]
  /** Sentences for the head of the file: what the file does not have. */
  readonly notes: readonly string[]
}

/** The imports that a file needs. */
export function importsOf({ methods, messages }: FileModel): string[] {
  const files = new Set<string>()
  const add = (type: Type): void => {
    if (type.kind === 'google') files.add(type.file)
    if (type.kind === 'list' || type.kind === 'map') add(type.item)
  }
  for (const { fields } of messages) for (const { type } of fields) add(type)
  for (const { input, output } of methods) for (const type of [input, output]) add(type)
  return [...files].sort()
}
