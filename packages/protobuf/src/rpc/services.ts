/** Services as options of transports take them. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { type ProtoSource, protoOf } from '../load-proto.ts'
import type { Proto, ProtoService } from '../proto.ts'

/** The services of one or several sources. */
export interface GivenServices {
  readonly services: readonly ProtoService[]
  /** The files of the services, and of others that came with them. */
  readonly protos: readonly Proto[]
}

/**
 * @param path names the option, for errors
 * @throws {OptionError} there is no service, a service is given twice, or descriptors cannot be read
 */
export function servicesOf(given: ProtoSource | readonly ProtoSource[], path: string): GivenServices {
  const found = ([given].flat(2) as readonly ProtoSource[]).map((one) => servicesIn(one, path))
  const services = found.flatMap((one) => one.services)
  if (services.length === 0) throw new OptionError(path, `${path} has no service: give at least one`)
  const names = services.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new OptionError(path, `${path} has the service ${twice} twice`)
  return { services, protos: found.map(({ proto }) => proto) }
}

interface Found {
  readonly services: readonly ProtoService[]
  readonly proto: Proto
}

function servicesIn(one: ProtoSource, path: string): Found {
  if (isProto(one)) return { services: one.services, proto: one }
  const { kind } = Object(one) as { readonly kind?: unknown }
  if (kind !== 'service' && kind !== 'file')
    throw OptionError.expected(path, 'services of protobuf, as from loadProto() or protobuf-es', one)
  const proto = protoOf(one)
  // A generated service comes with its file, which may have further services that must not be open.
  const services =
    one.kind === 'service' ? proto.services.filter(({ name }) => name === one.typeName) : proto.services
  return { services, proto }
}

function isProto(value: unknown): value is Proto {
  const { services, descriptors } = Object(value) as Partial<Proto>
  return Array.isArray(services) && typeof descriptors === 'function'
}
