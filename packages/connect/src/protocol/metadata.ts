/** Headers of requests that handlers get. */
import { RESERVED_PREFIX } from '@elysia-microservices/transport/kit'

/** Headers that belong to HTTP, to one connection or to a protocol, and tell a handler nothing. */
const OWN = new Set([
  'accept',
  'accept-encoding',
  'accept-post',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-grpc-web'
])
const OWN_PREFIXES = ['connect-', 'grpc-', RESERVED_PREFIX]

/**
 * The headers of a request as those of a message. Names that begin with `elysia-` are left out: they are those of
 * this library, which no stranger may set.
 */
export function messageHeaders(headers: Headers): Record<string, string> {
  const all: Record<string, string> = {}
  headers.forEach((value, given) => {
    const name = given.toLowerCase()
    if (OWN.has(name) || OWN_PREFIXES.some((prefix) => name.startsWith(prefix))) return
    Object.defineProperty(all, name, { value, enumerable: true, configurable: true, writable: true })
  })
  return all
}
