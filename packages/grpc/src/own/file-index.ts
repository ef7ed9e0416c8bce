/**
 * Finds descriptors of `.proto` files by the names of files, symbols and extensions, for reflection. The files stay as the
 * bytes that they are; only names are read. google/protobuf/descriptor.proto has the numbers of the fields.
 */
import { text } from '@elysia-microservices/transport/kit'
import { readFields } from '../wire/protobuf.ts'

/** A file as bytes of a `google.protobuf.FileDescriptorProto`. */
export interface IndexedFile {
  readonly name: string
  readonly imports: readonly string[]
  readonly bytes: Uint8Array
}

/** `FileDescriptorSet.file`. */
const FILE = 1
const OF_FILE = { name: 1, package: 2, dependency: 3, message: 4, enum: 5, service: 6, extension: 7 } as const
const OF_MESSAGE = { name: 1, field: 2, message: 3, enum: 4, extension: 6, oneof: 8 } as const
const OF_ENUM = { name: 1, value: 2 } as const
const OF_SERVICE = { name: 1, method: 2 } as const
const OF_FIELD = { name: 1, extendee: 2, number: 3 } as const

type Fields = ReadonlyMap<number, readonly (number | Uint8Array)[]>

/** The files of one server. */
export class FileIndex {
  readonly #files = new Map<string, IndexedFile>()
  readonly #symbols = new Map<string, IndexedFile>()
  /** By the extended message: the files of its extensions, by the numbers of these. */
  readonly #extensions = new Map<string, Map<number, IndexedFile>>()

  /** @param sets bytes of `google.protobuf.FileDescriptorSet`. Of files with the same name the first one counts. */
  constructor(sets: Iterable<Uint8Array>) {
    for (const set of sets) for (const bytes of messagesOf(fieldsOf(set), FILE)) this.#add(bytes)
  }

  /** A file by its name, such as `shop/v1/orders.proto`. */
  file(name: string): IndexedFile | undefined {
    return this.#files.get(name)
  }

  /** The file that declares a symbol, such as `shop.v1.Orders`, `shop.v1.Orders.GetTotal`, `shop.v1.Order.price`. */
  declaring(symbol: string): IndexedFile | undefined {
    return this.#symbols.get(symbol)
  }

  /** The file that declares an extension of a message. */
  extending(message: string, number: number): IndexedFile | undefined {
    return this.#extensions.get(message)?.get(number)
  }

  /** The numbers of the extensions of a message; `undefined` if there is no such message. */
  extensionsOf(message: string): readonly number[] | undefined {
    const known = this.#extensions.get(message)
    if (known === undefined) return this.#symbols.has(message) ? [] : undefined
    return [...known.keys()].sort((one, other) => one - other)
  }

  /**
   * A file and all that it imports, as far as they are not in `sent`, to which they are added. The file itself is always
   * there.
   */
  withImports(file: IndexedFile, sent: Set<string>): Uint8Array[] {
    const found = [file.bytes]
    sent.add(file.name)
    const open = [...file.imports]
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const imported = this.#files.get(name)
      if (imported === undefined || sent.has(name)) continue
      sent.add(name)
      found.push(imported.bytes)
      open.push(...imported.imports)
    }
    return found
  }

  #add(bytes: Uint8Array): void {
    const fields = fieldsOf(bytes)
    const name = textIn(fields, OF_FILE.name)
    if (this.#files.has(name)) return
    const imports = messagesOf(fields, OF_FILE.dependency).map((one) => text.read(one, 0, one.length))
    const file: IndexedFile = { name, imports, bytes }
    this.#files.set(name, file)
    const scope = textIn(fields, OF_FILE.package)
    this.#types(fields, OF_FILE, scope, file)
    for (const service of messagesOf(fields, OF_FILE.service)) {
      const own = fieldsOf(service)
      const path = this.#symbol(scope, own, file)
      for (const method of messagesOf(own, OF_SERVICE.method)) this.#symbol(path, fieldsOf(method), file)
    }
  }

  /** Messages, enums and extensions of a file or a message. */
  #types(
    fields: Fields,
    at: { readonly message: number; readonly enum: number; readonly extension: number },
    scope: string,
    file: IndexedFile
  ): void {
    for (const message of messagesOf(fields, at.message)) {
      const own = fieldsOf(message)
      const path = this.#symbol(scope, own, file)
      for (const part of [OF_MESSAGE.field, OF_MESSAGE.oneof])
        for (const one of messagesOf(own, part)) this.#symbol(path, fieldsOf(one), file)
      this.#types(own, OF_MESSAGE, path, file)
    }
    for (const one of messagesOf(fields, at.enum)) {
      const own = fieldsOf(one)
      this.#symbol(scope, own, file)
      // The values of an enum stand beside it, as in C++.
      for (const value of messagesOf(own, OF_ENUM.value)) this.#symbol(scope, fieldsOf(value), file)
    }
    for (const extension of messagesOf(fields, at.extension)) {
      const own = fieldsOf(extension)
      this.#symbol(scope, own, file)
      const [number] = own.get(OF_FIELD.number) ?? []
      const extended = textIn(own, OF_FIELD.extendee).replace(/^\./, '')
      if (typeof number !== 'number') continue
      const all = this.#extensions.get(extended) ?? new Map<number, IndexedFile>()
      this.#extensions.set(extended, all.set(number, file))
    }
  }

  /** Adds a symbol. Returns its full name. */
  #symbol(scope: string, fields: Fields, file: IndexedFile): string {
    const name = textIn(fields, OF_FIELD.name)
    const path = scope === '' ? name : `${scope}.${name}`
    if (!this.#symbols.has(path)) this.#symbols.set(path, file)
    return path
  }
}

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, (number | Uint8Array)[]>()
  readFields(bytes, (number, value) => {
    const values = fields.get(number)
    if (values === undefined) fields.set(number, [value])
    else values.push(value)
    return true
  })
  return fields
}

function messagesOf(fields: Fields, number: number): Uint8Array[] {
  return (fields.get(number) ?? []).filter((value): value is Uint8Array => typeof value !== 'number')
}

function textIn(fields: Fields, number: number): string {
  const [value] = messagesOf(fields, number)
  return value === undefined ? '' : text.read(value, 0, value.length)
}
