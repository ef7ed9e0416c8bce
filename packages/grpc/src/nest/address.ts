/** The address in the option `url` of Nest's gRPC, as grpc-js reads it. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** A place in the form of our options. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string }

const PLACE = /^(?:dns:(?:\/\/[^/]*\/)?|ipv[46]:)?(\[[^\]]+\]|[^:/[\]]+)(?::(\d{1,5}))?$/
const UNIX = /^unix:(?:\/\/)?(.+)$/
/** The port of grpc-js where none is given. */
const DEFAULT_PORT = 443

/** @throws {OptionError} it is no address, or one that names several servers */
export function placeOf(url: unknown, option: string): Place {
  const text = typeof url === 'string' ? url : ''
  const path = UNIX.exec(text)?.[1]
  if (path !== undefined) return { path }
  const [, host, port = DEFAULT_PORT] = PLACE.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535)
    throw OptionError.expected(option, "an address such as 'localhost:5000' or 'unix:/tmp/shop'", url)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}
