/** `serviceProto()`: the `.proto` of a service, and the same as a `Proto` whose values are those of the service. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { inOrder } from './descriptors/registry.ts'
import { shapesOf } from './options/shapes.ts'
import type { Proto } from './proto.ts'
import { ProtoFilesOf } from './proto-files.ts'
import type { DescribedService } from './schema/described.ts'
import { descriptorOf, hintsOf } from './schema/descriptor.ts'
import { fileOf, namesOf } from './schema/file-of.ts'
import { checkNumbers, numbered, type ProtoNumbers } from './schema/numbers.ts'
import { protoText } from './schema/print.ts'

/** Options of `serviceProto()`. */
export interface ServiceProtoOptions {
  /**
   * The numbers of an earlier `.proto` of the service: the content of the file that the command `proto` keeps. Default:
   * none, so all fields get new numbers.
   */
  readonly numbers?: unknown
  /** The package of the file, such as `shop.v1`. Default: that of `numbers`, or the service's name. */
  readonly package?: string | undefined
  /** The name of the service in the file. Default: that of `numbers`, or the service's name in PascalCase. */
  readonly service?: string | undefined
}

/** The `.proto` of a service. */
export interface ServiceProto extends Proto {
  /** The text of the `.proto`. The same schemas and numbers always give the same text. */
  readonly text: string
  /** The numbers to keep, as JSON: give them to the next call. */
  readonly numbers: ProtoNumbers
}

/** A service: what `microservice()` returns. */
export interface Describable {
  describe(): DescribedService
}

/** Values as a service has them: 64-bit integers are numbers, times are texts. */
const OURS = shapesOf({ int64: 'number', timestamps: 'text' })

/**
 * Makes the `.proto` of a service from its schemas. Each pattern becomes a method, and each event a method with an empty
 * answer. The codecs of the result take and give the values of the service's handlers.
 * @param service a service, or what its `describe()` returns
 * @throws {OptionError} a schema has parts for which protobuf has no word, with the path of each; an option is wrong
 */
export function serviceProto(
  service: Describable | DescribedService,
  options: ServiceProtoOptions = {}
): ServiceProto {
  const described = 'describe' in service ? service.describe() : service
  if (!Array.isArray(Object(described).handlers))
    throw OptionError.expected('service', 'a service, or what its describe() returns', service)
  const before = options.numbers === undefined ? undefined : checkNumbers(options.numbers)
  const names = namesOf(described, before, options)
  const file = fileOf(described, names)
  const numbers = numbered(file, before)
  const name = `${names.package.replaceAll('.', '/')}.proto`
  const files = inOrder([descriptorOf(file, name)], 'service')
  const handlers = new Map(
    file.methods.map(({ name: method, pattern, kind }) => [
      `${names.package}.${names.service}/${method}`,
      { pattern, kind }
    ])
  )
  const ours = { hints: hintsOf(file), handlers }
  return Object.assign(new ProtoFilesOf(files, new Set([name]), OURS, 'service', ours), {
    text: protoText(file),
    numbers
  })
}
