/** `loadProto()` and `protoOf()`: a `Proto` of `.proto` files, of descriptors, or of what protobuf-es has generated. */
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { OptionError } from '@elysia-microservices/transport/kit'
import { type Files, filesIn, inOrder } from './descriptors/registry.ts'
import { type Shapes, shapesOf } from './options/shapes.ts'
import type { Proto } from './proto.ts'
import { ProtoFilesOf } from './proto-files.ts'
import type { ProtoShapes } from './proto-shapes.ts'

type Path = string | URL

/** The files of `loadProto()`, and the shapes of their values. */
export interface ProtoFiles extends ProtoShapes {
  /** Paths of `.proto` files, or of descriptors (`protoc --descriptor_set_out --include_imports`, `buf build -o`). */
  readonly files: Path | readonly Path[]
  /**
   * Folders in which imports are looked for, in this order; then in those of the files themselves. Google's
   * `google/protobuf/*.proto` need none. Default: none.
   */
  readonly includeDirs?: readonly Path[] | undefined
}

/** A file that protobuf-es has generated: `file_orders` of `orders_pb.ts`. */
export interface GeneratedFile {
  readonly kind: 'file'
  readonly proto: { readonly name: string; readonly $typeName: 'google.protobuf.FileDescriptorProto' }
  readonly dependencies: readonly GeneratedFile[]
}

/** A service that protobuf-es has generated: `Orders` of `orders_pb.ts`. */
export interface GeneratedService {
  readonly kind: 'service'
  readonly typeName: string
  readonly file: GeneratedFile
}

/** A source of services for `connectRpc()` and `grpc()`: what `loadProto()` returns, or protobuf-es has generated. */
export type ProtoSource = Proto | GeneratedService | GeneratedFile

/**
 * Reads `.proto` files with all that they import, or files with descriptors.
 * @throws {OptionError} an option is wrong; a file is missing or wrong, and the message has its path and line
 * @example
 * ```ts
 * import { loadProto } from '@elysia-microservices/protobuf'
 *
 * const proto = await loadProto({ files: 'shop.proto' })
 * for (const { name, methods } of proto.services) console.log(name, methods.map(({ path }) => path))
 * ```
 */
export async function loadProto(options: ProtoFiles): Promise<Proto> {
  const { paths, includeDirs, shapes } = checkedFiles(options)
  const { isText, readFiles } = await import('./descriptors/read-files.ts')
  const protobuf = paths.some(isText) ? (await import('protobufjs')).default : undefined
  const read = readFiles(paths, includeDirs, protobuf)
  return new ProtoFilesOf(read.files, read.asked, shapes, OPTION)
}

/** The name of the option with the files, for errors. */
export const OPTION = 'options.files'

/** @throws {OptionError} an option is wrong */
export function checkedFiles(options: ProtoFiles): {
  readonly paths: readonly Path[]
  readonly includeDirs: readonly Path[]
  readonly shapes: Shapes
} {
  const shapes = shapesOf(options, ['files', 'includeDirs'])
  const { files, includeDirs = [] } = options
  const paths = isPath(files) ? [files] : files
  if (!Array.isArray(paths) || paths.length === 0 || !paths.every(isPath))
    throw OptionError.expected('options.files', 'a path of a .proto file, or a list of paths', files)
  if (!Array.isArray(includeDirs) || !includeDirs.every(isPath))
    throw OptionError.expected('options.includeDirs', 'a list of folders', includeDirs)
  return { paths, includeDirs, shapes }
}

function isPath(value: unknown): value is Path {
  return (typeof value === 'string' && value !== '') || value instanceof URL
}

/**
 * Makes a `Proto` of descriptors: of the bytes of a `google.protobuf.FileDescriptorSet`, or of services and files that
 * protobuf-es has generated. Reads no files and runs no `eval`, so it also runs in a browser or a worker. Values are
 * plain objects all the same, and not protobuf-es's messages.
 * @throws {OptionError} the descriptors cannot be read, or a shape is wrong
 */
export function protoOf(
  descriptors: Uint8Array | GeneratedService | GeneratedFile | readonly (GeneratedService | GeneratedFile)[],
  shapes: ProtoShapes = {}
): Proto {
  const checked = shapesOf(shapes)
  const files =
    descriptors instanceof Uint8Array ? filesIn(descriptors, 'descriptors') : generated(descriptors)
  const asked = descriptors instanceof Uint8Array ? files.map(({ name }) => name) : namesOf(descriptors)
  return new ProtoFilesOf(inOrder(files, 'descriptors'), new Set(asked), checked, 'descriptors')
}

type Generated = GeneratedService | GeneratedFile | readonly (GeneratedService | GeneratedFile)[]

function listed(given: Generated): readonly GeneratedFile[] {
  const all = (Array.isArray(given) ? given : [given]) as readonly (GeneratedService | GeneratedFile)[]
  return all.map((one) => {
    const { kind } = Object(one) as Partial<GeneratedFile | GeneratedService>
    const file = kind === 'service' ? (one as GeneratedService).file : one
    if (kind !== 'service' && kind !== 'file')
      throw OptionError.expected(
        'descriptors',
        'the bytes of a FileDescriptorSet, or services or files that protobuf-es has generated',
        one
      )
    return file as GeneratedFile
  })
}

function namesOf(given: Generated): string[] {
  return listed(given).map(({ proto }) => proto.name)
}

/**
 * The files behind what was generated. They are copied by their bytes, because another version of protobuf-es may have
 * made them.
 */
function generated(given: Generated): Files {
  const found = new Map<string, FileDescriptorProto>()
  const add = ({ proto, dependencies }: GeneratedFile) => {
    if (found.has(proto.name)) return
    const bytes = toBinary(FileDescriptorProtoSchema, proto as FileDescriptorProto)
    found.set(proto.name, fromBinary(FileDescriptorProtoSchema, bytes))
    for (const file of dependencies) add(file)
  }
  for (const file of listed(given)) add(file)
  return [...found.values()]
}
