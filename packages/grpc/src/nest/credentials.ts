/** The credentials of grpc-js in options of Nest's gRPC, as far as they can be read. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The members of grpc-js's `ServerCredentials` that say what is in them. */
interface ServerCredentials {
  _isSecure(): boolean
  _getSecureContextOptions?(): object | null
  _getConstructorOptions?(): { readonly requestCert?: boolean } | null
}

/**
 * The option `tls` that credentials stand for; `undefined`: they are those of connections without TLS.
 * @throws {OptionError} they cannot be read
 */
export function tlsOfCredentials(given: unknown, path: string): object | undefined {
  const credentials = Object(given) as Partial<ServerCredentials>
  if (credentials._isSecure?.() === false) return undefined
  const context = credentials._getSecureContextOptions?.()
  if (context === undefined || context === null)
    throw new OptionError(
      path,
      `${path} cannot be read: give options.tls in its place, with cert, key and ca as PEM; tokens go into metadata`
    )
  const { ca, cert, key } = context as Readonly<Record<'ca' | 'cert' | 'key', unknown>>
  const { requestCert } = credentials._getConstructorOptions?.() ?? {}
  return {
    ...{ cert: onlyOne(cert, path), key: onlyOne(key, path) },
    ...(requestCert === true && { requestCert, ca })
  }
}

function onlyOne(given: unknown, path: string): unknown {
  const all = [given].flat()
  if (all.length === 1) return all[0]
  throw new OptionError(path, `${path} must have one pair of a certificate and a key, not ${all.length}`)
}
