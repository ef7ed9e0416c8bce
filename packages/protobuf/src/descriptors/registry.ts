/** Makes a registry of descriptors: all types of some files by their names. */
import {
  clone,
  create,
  createFileRegistry,
  type FileRegistry,
  fromBinary,
  isFieldSet,
  toBinary
} from '@bufbuild/protobuf'
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import {
  type DescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema
} from '@bufbuild/protobuf/wkt'
import { OptionError } from '@elysia-microservices/transport/kit'
import { makeOptional } from '../presence.ts'
import { KNOWN_FILES } from './known-files.ts'

/** Files in the order in which they can be read: each one after those that it imports. */
export type Files = readonly FileDescriptorProto[]

/**
 * @param path names the option, for errors
 * @throws {OptionError} a file is missing or wrong
 */
export function inOrder(given: Iterable<FileDescriptorProto>, path: string): Files {
  const all = new Map([...given].map((file) => [file.name, file]))
  const ordered = new Map<string, FileDescriptorProto>()
  const within = new Set<string>()
  const add = (name: string, by: string) => {
    if (ordered.has(name)) return
    const file = all.get(name) ?? KNOWN_FILES.get(name)
    if (file === undefined)
      throw new OptionError(
        path,
        `${path} has not the file ${name}, which ${by} imports; add it, as protoc --include_imports does`
      )
    if (within.has(name)) throw new OptionError(path, `${path} has the file ${name}, which imports itself`)
    within.add(name)
    for (const dependency of file.dependency) add(dependency, name)
    ordered.set(name, file)
  }
  for (const name of all.keys()) add(name, name)
  return [...ordered.values()]
}

/** The bytes of a `FileDescriptorSet` as files. @throws {OptionError} they are none */
export function filesIn(bytes: Uint8Array, path: string): Files {
  try {
    return fromBinary(FileDescriptorSetSchema, bytes).file
  } catch (error) {
    throw new OptionError(
      path,
      `${path} must be a FileDescriptorSet (protoc --descriptor_set_out, buf build), but cannot be read: ${(error as Error).message}`,
      error
    )
  }
}

/** The files as the bytes of a `FileDescriptorSet`. */
export function bytesOfFiles(files: Files): Uint8Array<ArrayBuffer> {
  return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [...files] }))
}

/** @throws {OptionError} a file is wrong */
export function registryOf(files: Files, path: string): FileRegistry {
  for (const { messageType } of files) messageType.forEach(nameInJson)
  try {
    return createFileRegistry(create(FileDescriptorSetSchema, { file: [...files] }))
  } catch (error) {
    throw new OptionError(path, `${path} cannot be used: ${(error as Error).message}`, error)
  }
}

/** The same files, in which all fields of proto3 that hold one value are `optional`: they know whether they were sent. */
export function withPresence(files: Files): Files {
  return files.map((file) => {
    if (file.syntax !== 'proto3') return file
    const copy = clone(FileDescriptorProtoSchema, file)
    copy.messageType.forEach(withOptional)
    return copy
  })
}

const MESSAGES: readonly FieldDescriptorProto_Type[] = [
  FieldDescriptorProto_Type.MESSAGE,
  FieldDescriptorProto_Type.GROUP
]

function withOptional({ field, nestedType, options }: DescriptorProto): void {
  nestedType.forEach(withOptional)
  if (options?.mapEntry) return
  for (const one of field)
    if (
      one.label !== FieldDescriptorProto_Label.REPEATED &&
      !MESSAGES.includes(one.type) &&
      !isFieldSet(one, FieldDescriptorProtoSchema.field.oneofIndex)
    )
      makeOptional(one)
}

/** protoc writes the JSON name of each field; descriptors that were made otherwise may lack it. */
function nameInJson({ field, nestedType }: DescriptorProto): void {
  for (const one of field) if (one.jsonName === '') one.jsonName = protoCamelCase(one.name)
  nestedType.forEach(nameInJson)
}
