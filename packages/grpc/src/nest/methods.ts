/** The methods that options of Nest's gRPC name: of `.proto` files, or of a package definition of proto-loader. */
import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { type NestLoader, nestShapes, protoOf } from '@elysia-microservices/protobuf'
import { loadProtoSync } from '@elysia-microservices/protobuf/sync'
import { OptionError, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import type { NestMethod } from '@elysia-microservices/transport/nest'
import type { GrpcMethod, GrpcMethods, MessageCodec } from '../methods.ts'

/** Options of Nest's gRPC that say which methods there are. */
export interface NestProtoOptions {
  readonly package?: unknown
  readonly protoPath?: unknown
  readonly packageDefinition?: unknown
  readonly loader?: unknown
  /** Most bytes of a message that is sent. Default: no limit. */
  readonly mostSent?: number | undefined
}

/** A method with its names. */
type Named = GrpcMethod & NestMethod

/** The methods of some packages. */
export class NestMethods implements GrpcMethods {
  readonly all: readonly Named[]
  readonly services: NonNullable<GrpcMethods['services']>
  /** The files, for reflection. Missing: there are none. */
  declare readonly descriptors?: () => Uint8Array
  readonly #byPath: ReadonlyMap<string, Named>

  constructor(all: readonly Named[], descriptors: (() => Uint8Array) | undefined) {
    this.all = all
    this.#byPath = new Map(all.map((method) => [method.path, method]))
    const names = [...new Set(all.map(({ service }) => service))]
    this.services = names.map((name) => ({ name, methods: all.filter(({ service }) => service === name) }))
    if (descriptors !== undefined) this.descriptors = descriptors
  }

  method(path: string): GrpcMethod | undefined {
    return this.#byPath.get(path)
  }
}

/** @throws {OptionError} an option is wrong, a file cannot be read, or there is no such package */
export function nestMethods({
  package: given,
  protoPath,
  packageDefinition,
  loader,
  mostSent
}: NestProtoOptions): NestMethods {
  if ((protoPath === undefined) === (packageDefinition === undefined))
    throw new OptionError('options.protoPath', 'give either options.protoPath or options.packageDefinition')
  const packages = namesOf(given)
  const { methods, descriptors } =
    packageDefinition === undefined ? ofFiles(protoPath, loader) : ofDefinition(packageDefinition)
  for (const name of packages)
    if (!methods.some(({ service }) => isIn(service, name)))
      throw new OptionError('options.package', `options.package names '${name}', which has no service`)
  // Of two services with one name, the first package counts, and in it the service that is not in an inner one.
  const wanted = new Set(
    packages.flatMap((name) => {
      const all = methods.filter(({ service }) => isIn(service, name))
      const depth = name === '' ? 0 : name.length + 1
      const own = all.filter(({ service }) => !service.includes('.', depth))
      return [...own, ...all]
    })
  )
  return new NestMethods(
    mostSent === undefined ? [...wanted] : [...wanted].map((one) => limited(one, mostSent)),
    descriptors
  )
}

/** As in Nest, a package without a name has all services. */
function namesOf(given: unknown): readonly string[] {
  const names = [given ?? ''].flat()
  if (names.length > 0 && names.every((name) => typeof name === 'string')) return names as string[]
  throw OptionError.expected('options.package', 'a name, or a list of names', given)
}

function isIn(service: string, name: string): boolean {
  return name === '' || service.startsWith(`${name}.`)
}

interface Found {
  readonly methods: readonly Named[]
  readonly descriptors?: (() => Uint8Array) | undefined
}

/** Options of proto-loader that are not about values. */
interface LoaderOptions extends NestLoader {
  readonly includeDirs?: readonly string[] | undefined
}

function ofFiles(protoPath: unknown, loader: unknown): Found {
  const { includeDirs = [], ...shapes } = (loader ?? {}) as LoaderOptions
  const files = ([protoPath].flat() as string[]).map((file) => inFolders(file, includeDirs))
  const read = loadProtoSync({ files, includeDirs })
  const descriptors = read.descriptors()
  // As in Nest, services of imported files count, too.
  const { services } = protoOf(descriptors, nestShapes(shapes))
  return { methods: services.flatMap(({ methods }) => methods), descriptors: () => descriptors }
}

/** A path as proto-loader finds it: in the first folder that has it, else from the current one. */
function inFolders(file: string, folders: readonly string[]): string {
  if (isAbsolute(file)) return file
  return folders.map((folder) => join(folder, file)).find((path) => existsSync(path)) ?? file
}

/** A method as proto-loader describes it. */
interface LoadedMethod {
  readonly path: string
  readonly requestStream: boolean
  readonly responseStream: boolean
  readonly requestSerialize: MessageCodec['encode']
  readonly requestDeserialize: (bytes: Uint8Array) => unknown
  readonly responseSerialize: MessageCodec['encode']
  readonly responseDeserialize: (bytes: Uint8Array) => unknown
}

/** Messages and enums of a package definition have a format, services have methods. */
function ofDefinition(definition: unknown): Found {
  const services = Object.entries(Object(definition) as Record<string, object>).filter(
    ([, one]) => !('format' in one)
  )
  const methods = services.flatMap(([service, all]) =>
    Object.entries(all as Record<string, LoadedMethod>).map(([name, one]) => methodOf(service, name, one))
  )
  if (methods.length > 0) return { methods }
  throw OptionError.expected('options.packageDefinition', 'what load() of proto-loader returns', definition)
}

function methodOf(service: string, name: string, one: LoadedMethod): Named {
  const path = one.path.replace(/^\//, '')
  return {
    ...{ service, name, path, pattern: path, kind: 'message' },
    clientStreams: one.requestStream,
    serverStreams: one.responseStream,
    input: codecOf(one.requestSerialize, one.requestDeserialize),
    output: codecOf(one.responseSerialize, one.responseDeserialize)
  }
}

function codecOf(
  serialize: MessageCodec['encode'],
  deserialize: (bytes: Uint8Array) => unknown
): MessageCodec {
  return {
    // A handler without a result answers the empty message.
    encode: (value) => serialize(value ?? {}),
    // protobufjs reads Node's own bytes faster, and makes Buffers of them.
    decode: (bytes) => deserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  }
}

/** The same method, whose messages have a longest length when they are sent. */
function limited(method: Named, most: number): Named {
  const { input, output } = method
  return { ...method, input: limitedCodec(input, most), output: limitedCodec(output, most) }
}

function limitedCodec(codec: MessageCodec, most: number): MessageCodec {
  return {
    encode(value) {
      const bytes = codec.encode(value)
      if (bytes.length <= most) return bytes
      throw new PayloadTooLargeError('options.maxSendMessageLength', most, bytes.length, 'bytes of a message')
    },
    decode: (bytes) => codec.decode(bytes)
  }
}
