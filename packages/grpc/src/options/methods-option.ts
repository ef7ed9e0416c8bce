/** The option `proto`: methods by their paths, of whatever has been given. */
import type { ProtoSource } from '@elysia-microservices/protobuf'
import { servicesOf } from '@elysia-microservices/protobuf/rpc'
import {
  concatBytes,
  mustBeFunction,
  OptionError,
  type Pattern,
  routeOf
} from '@elysia-microservices/transport/kit'
import type { GrpcMethod, GrpcMethods } from '../methods.ts'

/** A method for which a pattern is chosen. */
export interface GrpcPatternMethod {
  /** The full name of the service, such as `shop.v1.Orders`. */
  readonly service: string
  /** The name of the method as in the `.proto`, such as `GetTotal`. */
  readonly name: string
  /** The pattern that it has without the option. */
  readonly pattern: string
}

/** A function that chooses the pattern of a method. */
export type ChoosePattern = (method: GrpcPatternMethod) => Pattern

/**
 * @param given the option `proto`
 * @param choose the option `pattern`
 * @throws {OptionError} there is no service, a service is given twice, or descriptors cannot be read
 */
export function methodsOf(
  given: ProtoSource | readonly ProtoSource[] | GrpcMethods,
  choose: ChoosePattern | undefined
): GrpcMethods {
  if (typeof given !== 'object' || given === null)
    throw OptionError.expected(
      'options.proto',
      'what loadProto() has read, or services of protobuf-es',
      given
    )
  if (choose !== undefined) mustBeFunction('options.pattern', choose)
  // The result of loadProto() has the methods already, and so have methods with codecs of their own.
  if (choose === undefined && isMethods(given)) return given
  const { services, protos } = servicesOf(given as ProtoSource | readonly ProtoSource[], 'options.proto')
  const named = services.map(({ name, methods }) => ({
    name,
    methods: methods.map((method): GrpcMethod => ({ ...method, pattern: patternOf(method, choose) }))
  }))
  const byPath = new Map(
    named.flatMap(({ methods }) => methods.map((method) => [method.path, method] as const))
  )
  return {
    services: named,
    // Two sets of files one behind the other are one set.
    descriptors: () => concatBytes(protos.map((proto) => proto.descriptors())),
    method: (path) => byPath.get(path)
  }
}

function isMethods(given: object): given is GrpcMethods {
  return typeof (given as Partial<GrpcMethods>).method === 'function'
}

function patternOf(method: GrpcPatternMethod, choose: ChoosePattern | undefined): string {
  const { service, name, pattern } = method
  return choose === undefined ? pattern : routeOf(choose({ service, name, pattern }))
}
